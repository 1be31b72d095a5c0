"""The beginnings that addresses of several pages have in common."""

STUDY = "studies/<slug:lab>/<slug:slug>/"
LAB = "labs/<slug:lab>/"
MEMBER = f"{LAB}members/<int:person_id>/"
