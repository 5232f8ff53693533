"""The proxy measured from outside, beside others, in one run: `python -m foldaway.lab.proxy_bench`.

Every target is a process of its own in front of one scripted upstream. All get the very same requests in turn, some
calls each, so that whatever else the machine does meets all of them alike.
"""
