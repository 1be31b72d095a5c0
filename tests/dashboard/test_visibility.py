"""Every URL of the dashboard, requested by all kinds of users, with private data.

Generated from the registered routes, which declare the permissions of each URL. Objects
of another lab have the same response as missing ones.
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

from benchmarks.collaboration.comments import CommentTarget, author_of, write_comment
from benchmarks.collaboration.saved_views import save_view
from benchmarks.collaboration.webhooks import create_webhook
from benchmarks.labs import tokens
from benchmarks.labs.members import invite_person
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
from benchmarks.uploads import intake, processing, reparsing
from dashboard.kit import generation_progress
from dashboard.urls import urlpatterns
from tests import publications
from tests.custom_tools import boot_sample, declare
from tests.dashboard.routes import ROUTES
from tests.module_data import standing
from tests.upload_documents import network_run

RULES = {name: it for name, it in ROUTES.items() if it.is_private}
CONVERTERS = {
    str(pattern.name): set(pattern.pattern.converters) for pattern in urlpatterns
}
NAMES = {"review-file": "review.csv"}
FORMS = {"comparison-file": "csv", "citation-file": "bib", "version-file": "csv"} | {
    "paper-file": "paper.zip"
}
# URLs whose only parameter is the lab.
OF_A_LAB = {
    "upload",
    "new-system",
    "upload-study",
    "lab",
    "members",
    "tokens",
    "bundles",
    "audit-log",
} | {
    *("webhooks", "custom-tools", "new-custom-tool", "new-host", "new-study"),
    "import-study",
    "require-second-factor",
}
POSTED = {"status": "confirmed", "note": "seen", "role": "admin"} | {
    "host": "alpha",
    "hypervisor": "KVM",
}
PEOPLE = (
    *("nobody", "token", "viewer", "maintainer", "admin", "stranger"),
    # Member of a third lab, with which the first one shares its study.
    "friend",
)
# Pages that a lab shows to others with which it shares a study.
SHOWN_TO_FRIENDS = {"lab", "custom-tools", "custom-tool", "host"}
OF_PEOPLE = {"change-role", "remove-member", "withdraw-invitation"} | {
    *("new-system", "upload-study"),
}


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """Create equal private objects in both labs; return their IDs by lab.

    The first lab shares its study with a third lab, which has no data.
    """
    with standing(django_db_blocker):
        filled = {slug: fill(slug) for slug in ("alpha-lab", "beta-lab")}
        Lab.objects.create(slug="gamma-lab", name="gamma-lab")
        shared = Study.objects.get(lab__slug="alpha-lab")
        update_study(study=shared, visibility="shared", shared_with=["gamma-lab"])
        # Last, because sharing a study deletes its reports.
        for ids in filled.values():
            study = Study.objects.get(slug=ids["slug"])
            ids["report_id"] = Report.objects.create(study=study, request_digest="x").pk
        yield filled


@pytest.fixture
def labs(db, filled):
    return filled


def fill(slug):
    """Store two runs of a private study, a flag and a reparse."""
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
    processing.process_due_uploads()
    doubt = [{"code": "doubt", "sentence": f"{secret} is doubtful."}]
    Run.objects.filter(study=study).update(warnings=doubt)
    checking.check_due_studies(timedelta(0))
    sitting = study.sessions.create(lab=lab, name=secret)
    Run.objects.filter(study=study).update(session=sitting)
    cell = Cell.objects.get(study=study, system__hypervisor="Xen")
    keeper = get_user_model().objects.create_user(f"keeper of {lab.slug}")
    Membership.objects.create(lab=lab, user=keeper, role="admin")
    invited, _ = invite_person(lab=lab, actor=keeper, name=secret, role="viewer")
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
            name=secret, path="/compare/", person=None, lab=lab, agent="sender"
        ).pk,
        "webhook_id": create_webhook(
            lab=lab,
            person=keeper,
            target_url=f"https://{secret}.example/",
            kinds=["runs"],
            site_url="",
        ).pk,
        "comment_id": commented(study, keeper).pk,
        "plan_id": planned(study, cell.system).pk,
        "person_id": keeper.pk,
        "invitation_id": invited.pk,
        "prefix": tokens.issue_token(agent=agent, can_upload=True)[0].prefix,
        "tool": boots.slug,
        "host": "alpha",
        "reparse_id": reparsing.create_reparse(study=study).pk,
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
        study=study, actor="keeper", title="A plan", design=design, budget_s=60
    )


def commented(study, person):
    """Write a comment that only users with access to the study may read."""
    text = f"Of {study.slug}"
    return write_comment(
        author=author_of(person), target=CommentTarget(study), text=text
    )


def reviewed(study):
    """Publish a review while the study is public, then make the study private."""
    update_study(study=study, visibility="public")
    review = publications.reviewed(study.lab, title=f"Of {study.slug}")
    update_study(study=study, visibility="private")
    return review


def published(study):
    """Publish a study for a user who is no longer a member of any lab."""
    person = get_user_model().objects.create_user(f"keeper of {study.slug}")
    return publications.published(study, person)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for reports, because no worker runs."""
    monkeypatch.setattr(generation_progress, "MAX_GENERATION_WAIT_S", 0)


@pytest.fixture(scope="module")
def signed_in(filled):
    """Return a client for each kind of user; the stranger administers another lab."""
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
def people(signed_in):
    """Return a client for each kind of user, without pending messages."""
    return deepcopy(signed_in)


def bearer(lab):
    """Return the header with which an agent reads private data by the API."""
    _, secret = tokens.issue_token(agent=lab.agents.first(), can_read=True)
    return {"Authorization": f"Bearer {secret}"}


def address_of(name, ids):
    """Return a URL with these IDs, some of them in its query."""
    if name in {"upload", "new-system", "upload-study", "new-study", "import-study"}:
        return f"{reverse(f'dashboard:{name}')}?lab={ids['lab']}"
    if name == "cross-study-pair":
        key = f"{ids['study']}-{ids['system']}"
        return f"{reverse('dashboard:cross-study-pair')}?first={key}&second={key}"
    query = f"?cell={ids['cell_id']}" if name == "cell-card" else ""
    kwargs = {item: ids.get(item) for item in CONVERTERS[name] - {"form"}}
    if "name" in CONVERTERS[name]:
        kwargs["name"] = NAMES[name]
    if "form" in CONVERTERS[name]:
        kwargs["form"] = FORMS[name]
    return reverse(f"dashboard:{name}", kwargs=kwargs) + query


def targets(labs):
    """Return the targets: objects of each lab, missing ones, and a mixture."""
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
    """Request a URL; return status and text without random parts."""
    address = address_of(name, ids)
    is_post = RULES[name].kind == "action"
    with transaction.atomic():
        answer = client.post(address, POSTED) if is_post else client.get(address)
        # Undo changes, because all users request the same objects.
        transaction.set_rollback(True)
    client.cookies.pop("messages", None)  # messages for the next page
    text = re.sub(rb'csrfmiddlewaretoken" value="\w+"', b"", answer.getvalue())
    text = re.sub(rb'href="/login/\?next=[^"]*"', b"", text)  # differs by URL
    return answer.status_code, text


def expected(name, who, target):
    """Return the correct status for a user and target."""
    rule, lab = RULES[name], {"stranger": "beta"}.get(who, "alpha")
    if who in {"nobody", "token"}:
        return rule.anonymous_status
    if name in OF_A_LAB and target == "missing":
        target = "alpha"  # the URL has no other parameter
    if who == "friend":
        is_seen = name in SHOWN_TO_FRIENDS or name not in OF_A_LAB | OF_PEOPLE
        return rule.member_statuses[0] if target == "alpha" and is_seen else 404
    return rule.member_statuses[who != "viewer"] if target == lab else 404


# `make test` runs the users with most permissions, `make test-slow` all others.
ASKED = {
    "alpha": PEOPLE,
    "beta": ("nobody", "admin", "stranger", "friend"),
    "missing": ("nobody", "admin", "friend"),
    "missing lab": ("nobody", "admin", "stranger"),
    "smuggled": ("admin", "friend"),
}


def is_asked(name, target):
    """Return whether the URL has an ID of another lab's object."""
    return target != "smuggled" or name == "cell-card" or "cell_id" in CONVERTERS[name]


@pytest.mark.parametrize("name", sorted(RULES))
def test_responses_to_main_users_are_correct(labs, people, name):
    """Data of another lab look like missing data, and no name of them appears."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RULES))
def test_responses_to_all_other_users_are_correct(labs, people, name):
    statuses = {
        (who, key): ask(people[who], name, ids)[0]
        for key, ids in targets(labs).items()
        if is_asked(name, key)
        for who in PEOPLE
        if who not in ASKED[key]
    }

    assert statuses == {asked: expected(name, *asked) for asked in statuses}


@pytest.mark.parametrize(
    ("name", "query"),
    [(name, query) for name in ROUTES for query in ROUTES[name].id_queries],
)
def test_query_ids_do_not_reveal_data_of_other_labs(labs, people, name, query):
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
def test_the_home_page_lists_visible_studies(labs, people, who):
    text = people[who].get("/").content.decode()

    # A friend sees the shared study of the first lab.
    own = {"nobody": "", "token": "", "stranger": "beta"}.get(who, "alpha")
    named = {lab for lab in ("alpha", "beta") if f"secret-{lab}-lab" in text}
    assert named == ({own} if own else set())
