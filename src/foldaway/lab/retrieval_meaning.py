"""Questions that share no word with their answer, and questions in other languages than the answer: what words alone
cannot find.

Made up for this purpose: forty things that a long-term memory holds, each asked for in other English words, in Chinese,
in German and in Spanish. A test holds that an English question shares no telling word with its answer.
"""

from __future__ import annotations

from foldaway.lab.retrieval_sets import Doc, Query, RetrievalSet

LANGUAGES = ("english, other words", "chinese", "german", "spanish")

# A fact; then asked for in other English words, in Chinese, in German, in Spanish.
_FACTS = """\
My dog is called Juniper.
What name did I give my puppy?
我的狗叫什么名字？
Wie heißt mein Hund?
¿Cómo se llama mi perro?

The server crashed because its disk was full.
Why did the machine go down?
服务器为什么崩溃了？
Warum ist der Server abgestürzt?
¿Por qué se cayó el servidor?

She prefers tea over coffee in the morning.
Which hot drink does she like at breakfast?
她早上更喜欢喝什么？
Was trinkt sie morgens am liebsten?
¿Qué bebe ella por la mañana?

We moved the meeting to Thursday afternoon.
When was the appointment rescheduled for?
会议改到什么时候了？
Auf wann wurde die Besprechung verschoben?
¿Para cuándo se cambió la reunión?

He is allergic to peanuts.
Is there any food that makes him ill?
他对什么过敏？
Wogegen ist er allergisch?
¿A qué es alérgico?

The password must be changed every ninety days.
How often do credentials expire?
密码多久要更换一次？
Wie oft muss das Kennwort geändert werden?
¿Cada cuánto hay que cambiar la contraseña?

Our office is near the central railway station.
Where is the workplace located?
我们的办公室在哪里？
Wo liegt unser Büro?
¿Dónde está nuestra oficina?

The customer wants a refund for the broken lamp.
Who asks for money back?
顾客因为灯坏了想要什么？
Was möchte der Kunde wegen der kaputten Lampe?
¿Qué quiere el cliente por la lámpara rota?

The unit tests take twenty minutes to run.
How slow is the checking suite?
单元测试要跑多久？
Wie lange dauern die Tests?
¿Cuánto tardan las pruebas?

My sister lives in Canada with two children.
In which country does my sibling reside?
我姐姐住在哪个国家？
In welchem Land lebt meine Schwester?
¿En qué país vive mi hermana?

He plays the violin in an orchestra.
What musical instrument has he mastered?
他演奏什么乐器？
Welches Instrument spielt er?
¿Qué instrumento toca él?

The report is due at the end of the month.
What is the deadline of the paper?
报告什么时候到期？
Wann muss der Bericht fertig sein?
¿Cuándo hay que entregar el informe?

We decided to use PostgreSQL for storing orders.
Which database did the team pick?
我们决定用什么数据库来存订单？
Für welche Datenbank haben wir uns entschieden?
¿Qué base de datos decidimos usar para los pedidos?

Never deploy on Fridays, said the manager.
On what weekday are releases forbidden by the boss?
经理说哪天不能部署？
An welchem Tag darf nicht ausgeliefert werden?
¿Qué día no se debe desplegar según el jefe?

The car needs new tires before winter.
What has to be replaced on the vehicle when it gets cold?
冬天之前汽车需要换什么？
Was braucht das Auto vor dem Winter?
¿Qué necesita el coche antes del invierno?

The doctor advised him to walk daily.
What exercise did the physician recommend?
医生建议他每天做什么？
Was hat der Arzt ihm geraten?
¿Qué le aconsejó el médico?

I cannot eat meat or fish.
Am I a vegetarian?
我不能吃什么？
Was kann ich nicht essen?
¿Qué no puedo comer?

The window in the kitchen is broken.
Which part of the house has damaged glass?
厨房里什么坏了？
Was ist in der Küche kaputt?
¿Qué está roto en la cocina?

They got married in the summer of last year.
When was the wedding?
他们什么时候结婚的？
Wann haben sie geheiratet?
¿Cuándo se casaron?

The invoice was sent to the wrong address.
What went amiss with the bill?
发票寄错到哪里了？
Was ist mit der Rechnung passiert?
¿Qué pasó con la factura?

Her favorite color is dark green.
What shade does she love?
她最喜欢什么颜色？
Was ist ihre Lieblingsfarbe?
¿Cuál es su color favorito?

The train to Berlin leaves at seven.
At what hour does the rail journey begin?
去柏林的火车几点出发？
Wann fährt der Zug nach Berlin ab?
¿A qué hora sale el tren a Berlín?

He studied physics at the university.
What subject is his degree in?
他在大学学的是什么？
Was hat er an der Universität studiert?
¿Qué estudió en la universidad?

The printer on the second floor is out of paper.
Why can nobody make hard copies upstairs?
二楼的打印机怎么了？
Was fehlt dem Drucker im zweiten Stock?
¿Qué le falta a la impresora del segundo piso?

The baby sleeps badly at night.
Does the infant rest well after dark?
宝宝晚上睡得好吗？
Schläft das Baby nachts gut?
¿Duerme bien el bebé por la noche?

Our biggest competitor lowered its prices.
What did the rival company do to undercut us?
我们最大的竞争对手做了什么？
Was hat unser größter Konkurrent getan?
¿Qué hizo nuestro mayor competidor?

She is afraid of flying.
What does she fear when travelling by plane?
她害怕什么？
Wovor hat sie Angst?
¿De qué tiene miedo ella?

The garden must be watered twice a week.
How frequently do the plants get a drink?
花园每周要浇几次水？
Wie oft muss der Garten gegossen werden?
¿Cuántas veces por semana hay que regar el jardín?

The movie was boring and too long.
Did anybody enjoy the film?
电影怎么样？
Wie war der Film?
¿Cómo fue la película?

The bridge is closed for repairs.
Why is it impossible to cross the river?
桥为什么关闭了？
Warum ist die Brücke gesperrt?
¿Por qué está cerrado el puente?

He quit his job to start a company.
Why did he resign from employment and become an entrepreneur?
他为什么辞职？
Warum hat er seine Arbeit gekündigt?
¿Por qué dejó su trabajo?

The school begins at eight in the morning.
When do pupils have to arrive for class?
学校早上几点开始上课？
Wann beginnt die Schule?
¿A qué hora empieza la escuela?

My phone battery dies after three hours.
How soon must I recharge the mobile?
我的手机电池能用多久？
Wie lange hält der Akku meines Telefons?
¿Cuánto dura la batería de mi teléfono?

The thief escaped through the back door.
How did the burglar get away?
小偷是从哪里逃走的？
Wie ist der Dieb entkommen?
¿Por dónde escapó el ladrón?

Snow blocked all the roads to the village.
What kind of weather cut off the settlement?
什么堵住了去村子的路？
Was hat die Straßen zum Dorf blockiert?
¿Qué bloqueó los caminos al pueblo?

The teacher praised her essay.
Who complimented the text she wrote?
老师表扬了她的什么？
Was hat der Lehrer gelobt?
¿Qué elogió el profesor?

Two of the employees are on vacation.
How many staff members are away on holiday?
有几个员工在休假？
Wie viele Mitarbeiter sind im Urlaub?
¿Cuántos empleados están de vacaciones?

The hospital bought a new ambulance.
What emergency vehicle did the clinic acquire?
医院买了什么？
Was hat das Krankenhaus gekauft?
¿Qué compró el hospital?

Grandfather grows tomatoes behind the house.
Which vegetables does grandpa cultivate?
爷爷在屋后种什么？
Was baut Großvater hinter dem Haus an?
¿Qué cultiva el abuelo detrás de la casa?

The ship sank during a storm.
What happened to the boat in the bad weather?
船是怎么沉的？
Wie ist das Schiff gesunken?
¿Cómo se hundió el barco?"""


def meaning_sets() -> list[RetrievalSet]:
    """One set a way of asking, all over the same forty memories."""
    rows = [stanza.splitlines() for stanza in _FACTS.split("\n\n")]
    docs = tuple(Doc(id=f"fact {n}", text=row[0], source="made up") for n, row in enumerate(rows))
    return [
        RetrievalSet(
            name=f"meaning, {language}",
            docs=docs,
            queries=tuple(
                Query(text=row[column], gold=frozenset({f"fact {n}"}), group=f"fact {n}") for n, row in enumerate(rows)
            ),
        )
        for column, language in enumerate(LANGUAGES, start=1)
    ]
