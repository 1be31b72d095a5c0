"""Every address of the dashboard, asked by everybody, about what two labs keep private.

Generated from the registered routes, which state who may see each address.
What is another lab's answers exactly as what is missing.
"""

import re
from copy import deepcopy
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from django.urls import reverse

from benchmarks.labs import tokens
from benchmarks.labs.people import invite_person
from benchmarks.models import (
    Agent,
    Cell,
    Flag,
    Host,
    Lab,
    Membership,
    Report,
    Run,
    Study,
)
from benchmarks.plans.planning import create_plan
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.together.comments import Thing, author_of, write_comment
from benchmarks.together.saved_views import save_view
from benchmarks.together.webhooks import make_webhook
from benchmarks.uploads import intake, processing, rereading
from dashboard.kit import waiting
from dashboard.urls import urlpatterns
from tests import publishing
from tests.dashboard.routes import ROUTES
from tests.documents import network_run
from tests.own_tools import boot_sample, declare
from tests.standing import standing

RULES = {name: it for name, it in ROUTES.items() if it.is_private}
CONVERTERS = {
    str(pattern.name): set(pattern.pattern.converters) for pattern in urlpatterns
}
NAMES = {"review-file": "review.csv"}
FORMS = {"export": "csv", "cite": "bib", "version-file": "csv"} | {
    "paper-file": "paper.zip"
}
# Addresses in which nothing stands but the lab.
OF_A_LAB = {
    "upload",
    "upload-system",
    "lab",
    "members",
    "tokens",
    "bundles",
    "audit-log",
} | {
    *("webhooks", "own-tools", "declare-tool", "new-host", "new-study"),
    "demand-second-factor",
}
POSTED = {"status": "confirmed", "note": "seen", "role": "admin"} | {
    "host": "alpha",
    "hypervisor": "KVM",
}
PEOPLE = (
    *("nobody", "token", "viewer", "maintainer", "admin", "stranger"),
    # Of a third lab, with which the first one shares its study.
    "friend",
)
# What a lab that shares a study shows of itself; all else of it stays its own.
SHOWN_TO_FRIENDS = {"lab", "own-tools", "own-tool", "host"}
OF_PEOPLE = {"give-role", "remove-member", "withdraw-invitation", "upload-system"}


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """Fill both labs with the same secrets; return what each calls its own.

    The first one shares its study with a third, which has nothing.
    """
    with standing(django_db_blocker):
        filled = {slug: fill(slug) for slug in ("alpha-lab", "beta-lab")}
        Lab.objects.create(slug="gamma-lab", name="gamma-lab")
        shared = Study.objects.get(lab__slug="alpha-lab")
        update_study(study=shared, visibility="shared", shared_with=["gamma-lab"])
        # Last: reports made before somebody else may see a study are forgotten.
        for ids in filled.values():
            study = Study.objects.get(slug=ids["slug"])
            ids["report_id"] = Report.objects.create(study=study, stamp="x").pk
        yield filled


@pytest.fixture
def labs(db, filled):
    return filled


def fill(slug):
    """Keep two runs of a private study, a flag on one of them and a reread."""
    secret = f"secret-{slug}"
    lab = Lab.objects.create(slug=slug, name=slug)
    study = Study.objects.create(lab=lab, slug=secret, title=secret)
    Host.objects.create(lab=lab, slug="alpha")
    agent = Agent.objects.create(lab=lab, name="sender")
    send = partial(network_run, host="alpha", study=secret)
    boots = declare(lab)
    send_boot = {"tool": boots.slug, "samples": [boot_sample()], "note": secret}
    documents = [
        send(),
        send(**send_boot),
        send(13.08, system={"hypervisor": "Xen"}, note=secret),
    ]
    intake.submit_runs(agent=agent, documents=documents)
    processing.drain()
    doubt = [{"code": "doubt", "sentence": f"{secret} is doubtful."}]
    Run.objects.filter(study=study).update(warnings=doubt)
    checking.check_due_studies(timedelta(0))
    sitting = study.sessions.create(lab=lab, name=secret)
    Run.objects.filter(study=study).update(sitting=sitting)
    cell = Cell.objects.get(study=study, system__hypervisor="Xen")
    keeper = get_user_model().objects.create_user(f"keeper of {lab.slug}")
    Membership.objects.create(lab=lab, user=keeper, role="admin")
    invited, _ = invite_person(lab=lab, by=keeper, name=secret, role="viewer")
    return {
        "lab": lab.slug,
        "slug": secret,
        "cell_id": cell.pk,
        "run_id": Run.objects.get(study=study, system=cell.system).pk,
        "flag_id": Flag.objects.filter(study=study).first().pk,
        "version_id": published(study).pk,
        "review_id": reviewed(study).pk,
        "job_id": study.publishing_jobs.create(person=keeper, stage="failed").pk,
        "view_id": save_view(
            name=secret, address="/compare/", person=None, lab=lab, agent="sender"
        ).pk,
        "webhook_id": make_webhook(
            lab=lab,
            person=keeper,
            url=f"https://{secret}.example/",
            kinds=["runs"],
            site="",
        ).pk,
        "comment_id": commented(study, keeper).pk,
        "plan_id": planned(study, cell.system).pk,
        "person_id": keeper.pk,
        "invitation_id": invited.pk,
        "prefix": tokens.issue_token(agent=agent, can_upload=True)[0].prefix,
        "tool": boots.slug,
        "host": "alpha",
        "reread_id": rereading.begin_reread(study=study).pk,
        "system": cell.system_id,
        "study": study.pk,
        "case": cell.case_id,
        "session": sitting.pk,
    }


def planned(study, system):
    """Plan one step of a study."""
    design = {
        "systems": [{"system": system.pk}],
        "tools": [{"tool": "hackbench"}],
        "repetitions": 1,
        "warm_up": 0,
    }
    return create_plan(
        study=study, who="keeper", title="A plan", design=design, budget_s=60
    )


def commented(study, person):
    """Let the keeper write what only who sees the study may read."""
    text = f"Of {study.slug}"
    return write_comment(author=author_of(person), about=Thing(study), text=text)


def reviewed(study):
    """Publish a review while the study is public, and hide it again."""
    update_study(study=study, visibility="public")
    review = publishing.reviewed(study.lab, title=f"Of {study.slug}")
    update_study(study=study, visibility="private")
    return review


def published(study):
    """Publish a study for somebody who is in no lab any more."""
    person = get_user_model().objects.create_user(f"keeper of {study.slug}")
    return publishing.published(study, person)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """Nobody waits for a report: no worker runs here."""
    monkeypatch.setattr(waiting, "PATIENCE_S", 0)


@pytest.fixture(scope="module")
def arrived(filled):
    """Return a client for everybody; the stranger rules the other lab."""
    first, second, third = Lab.objects.order_by("pk")
    places = {"viewer": first, "maintainer": first, "admin": first}
    places |= {"stranger": second, "friend": third}
    found = {"nobody": Client(), "token": Client(headers=bearer(first))}
    for name, lab in places.items():
        user = get_user_model().objects.create_user(name)
        role = "admin" if name in {"stranger", "friend"} else name
        Membership.objects.create(lab=lab, user=user, role=role)
        found[name] = Client()
        found[name].force_login(user)
    return found


@pytest.fixture
def people(arrived):
    """Return a client for everybody to whom nothing was said yet."""
    return deepcopy(arrived)


def bearer(lab):
    """Return what lets an agent read the lab's private things through the API."""
    _, secret = tokens.issue_token(agent=lab.agents.first(), can_read=True)
    return {"Authorization": f"Bearer {secret}"}


def address_of(name, ids):
    """Return an address for these ids; some of them stand in its query."""
    if name in {"upload", "upload-system", "new-study"}:
        return f"{reverse(f'dashboard:{name}')}?lab={ids['lab']}"
    if name == "across-pair":
        key = f"{ids['study']}-{ids['system']}"
        return f"{reverse('dashboard:across-pair')}?one={key}&other={key}"
    query = f"?cell={ids['cell_id']}" if name == "cell-card" else ""
    kwargs = {each: ids.get(each) for each in CONVERTERS[name] - {"form"}}
    if "name" in CONVERTERS[name]:
        kwargs["name"] = NAMES[name]
    if "form" in CONVERTERS[name]:
        kwargs["form"] = FORMS[name]
    return reverse(f"dashboard:{name}", kwargs=kwargs) + query


def targets(labs):
    """Return what may be asked for: each lab's own, nothing, and a mixture."""
    alpha, beta = labs.values()
    missing = dict.fromkeys(alpha, 999_999)
    smuggled = alpha | {"cell_id": beta["cell_id"], "run_id": beta["run_id"]}
    return {
        "alpha": alpha,
        "beta": beta,
        "missing": missing | {"lab": "alpha-lab", "slug": "missing"},
        "missing lab": missing | {"lab": "missing-lab", "slug": "missing"},
        "smuggled": smuggled,
    }


def ask(client, name, ids):
    """Ask; return the status, and the text without what differs by chance."""
    address = address_of(name, ids)
    is_post = RULES[name].kind == "action"
    with transaction.atomic():
        answer = client.post(address, POSTED) if is_post else client.get(address)
        # Everybody asks for the same: what one deletes is there for the next.
        transaction.set_rollback(True)
    client.cookies.pop("messages", None)  # messages of a POST, for the next page
    text = re.sub(rb'csrfmiddlewaretoken" value="\w+"', b"", answer.getvalue())
    text = re.sub(rb'href="/login/\?next=[^"]*"', b"", text)  # the address itself
    return answer.status_code, text


def expected(name, who, target):
    """Return the status that is right for somebody at something."""
    rule, lab = RULES[name], {"stranger": "beta"}.get(who, "alpha")
    if who in {"nobody", "token"}:
        return rule.nobody
    if name in OF_A_LAB and target == "missing":
        target = "alpha"  # there is nothing but the lab in the address
    if who == "friend":
        is_seen = name in SHOWN_TO_FRIENDS or name not in OF_A_LAB | OF_PEOPLE
        return rule.own[0] if target == "alpha" and is_seen else 404
    return rule.own[who != "viewer"] if target == lab else 404


# `make test` asks those who may do most; `make test-proofs` asks everybody else.
ASKED = {
    "alpha": PEOPLE,
    "beta": ("nobody", "admin", "stranger", "friend"),
    "missing": ("nobody", "admin", "friend"),
    "missing lab": ("nobody", "admin", "stranger"),
    "smuggled": ("admin", "friend"),
}


def is_asked(name, target):
    """Tell whether there is a place in the address for another lab's cell."""
    return target != "smuggled" or name == "cell-card" or "cell_id" in CONVERTERS[name]


@pytest.mark.parametrize("name", sorted(RULES))
def test_everybody_is_answered_what_is_right(labs, people, name):
    """Data of another lab look like missing data, and nothing names them."""
    answers = {
        (who, key): ask(people[who], name, ids)
        for key, ids in targets(labs).items()
        if is_asked(name, key)
        for who in ASKED[key]
    }

    found = {asked: status for asked, (status, _) in answers.items()}
    assert found == {asked: expected(name, *asked) for asked in found}
    for who, foreign in (("admin", "beta"), ("stranger", "alpha"), ("nobody", "beta")):
        assert answers[who, foreign] == answers[who, "missing lab"], who
        assert b"secret" not in answers[who, foreign][1]


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(RULES))
def test_everybody_else_is_answered_what_is_right(labs, people, name):
    statuses = {
        (who, key): ask(people[who], name, ids)[0]
        for key, ids in targets(labs).items()
        if is_asked(name, key)
        for who in PEOPLE
        if who not in ASKED[key]
    }

    assert statuses == {asked: expected(name, *asked) for asked in statuses}


@pytest.mark.parametrize(
    ("name", "query"), [(name, query) for name in ROUTES for query in ROUTES[name].ids]
)
def test_ids_in_a_query_find_nothing_of_another_lab(labs, people, name, query):
    alpha, beta = labs.values()
    client, address = people["admin"], address_of(name, alpha)

    foreign = {"system": beta["system"], "cell": beta["cell_id"]}
    foreign |= {"case": beta["case"], "run": beta["run_id"]}
    foreign["session"] = beta["session"]
    nothing = dict.fromkeys(foreign, 999_999)
    mark = "&" if "?" in address else "?"
    theirs = client.get(f"{address}{mark}{query.format(**foreign)}")
    missing = client.get(f"{address}{mark}{query.format_map(nothing)}")

    assert theirs.status_code == missing.status_code
    assert b"beta" not in theirs.getvalue()


@pytest.mark.parametrize("who", PEOPLE)
def test_the_first_page_lists_the_labs_own(labs, people, who):
    text = people[who].get("/").content.decode()

    # A friend sees what is shared, the first lab's.
    own = {"nobody": "", "token": "", "stranger": "beta"}.get(who, "alpha")
    named = {lab for lab in ("alpha", "beta") if f"secret-{lab}-lab" in text}
    assert named == ({own} if own else set())
