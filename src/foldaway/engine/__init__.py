"""The only room that decides: append, link, value, propose, rehearse, commit, render."""
