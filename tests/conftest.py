"""Common fixtures: two labs, their agents and tokens, and one study."""

import gc
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection

from benchmarks import redis_connection, rls, rls_policies
from benchmarks.labs import tokens
from benchmarks.models import Agent, Host, Lab, Membership, Study, Version
from benchmarks.studies import checking, data_versions
from benchmarks.uploads import intake, processing
from tests import publications, reference_studies, upload_documents
from tests.pure_plugin import SIXTHS

# The duration of an example depends on how busy the machine is, not on the code.
hypothesis.settings.register_profile("virtlab", deadline=None)
hypothesis.settings.load_profile("virtlab")


ROOT = Path(__file__).parents[1]
ROLE = ("USER", "PASSWORD")


# Folders whose files share a product or a server: each goes to one process.
TOGETHER = ("tests/product", "tests/dashboard/access", "tests/dashboard/browser")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to each process, and whole folders where files share a server.

    Slow tests are distributed by file: their folders take too long for one process.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return folder if folder in TOGETHER and not is_slow_run else file

    is_slow_run = config.getoption("markexpr") == "slow"
    return Scheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = (
        "run every sixth test marked `walk`, or a sixth of the pure tests' files;"
        " six consecutive numbers cover them all"
    )
    parser.addoption("--day", type=int, metavar="NUMBER", help=help_text)


@pytest.hookimpl(trylast=True)  # after pytest has deselected unwanted tests
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Select a sixth of the walks if asked, and run the slowest folders first."""
    if (day := config.getoption("day")) is not None:
        walks = [item for item in items if item.get_closest_marker("walk")]
        skipped = set(walks) - set(walks[day % SIXTHS :: SIXTHS])
        config.hook.pytest_deselected(items=list(skipped))
        items[:] = [item for item in items if item not in skipped]
    browsers = {item.path for item in items if item.get_closest_marker("browser")}

    def turn(item: pytest.Item) -> int:
        folder = item.path.parent.relative_to(ROOT).as_posix()
        if folder in TOGETHER:
            return TOGETHER.index(folder)
        return len(TOGETHER) + (item.path not in browsers)

    items.sort(key=turn)


# Collecting tests creates almost no garbage, but searching for it takes 2 s.
gc.disable()


def pytest_collection_finish() -> None:
    """Exclude objects that live for the whole run from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Remove an unfinished request of the previous test.

    Tests see all data outside of requests; a test that imports `config.wsgi` changes
    this for its process.
    """
    rls.clear_context()
    rls._default_context = rls.ALL_ROWS


@pytest.fixture(scope="session")
def _database(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    """Create this process's database as the owner of its tables, as `prepare` does.

    Migrations take 3 s: the first process runs them, every process copies the result.
    """
    session: Any = connection
    template = f"test_{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
    own = f"{template}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"

    def use(name: str) -> None:
        session.close()
        settings.DATABASES["default"]["NAME"] = name
        session.settings_dict["NAME"] = name

    with django_db_blocker.unblock(), rls_policies.as_owner():
        creation, test = session.creation, session.settings_dict["TEST"]
        product = session.settings_dict["NAME"]
        # Closing the connection releases the lock.
        with creation._nodb_cursor() as alone:
            # On a busy machine the first process needs longer than the usual timeouts.
            alone.execute("SET lock_timeout = 0; SET statement_timeout = 0")
            alone.execute("SELECT pg_advisory_lock(1)")
            alone.execute("SELECT FROM pg_database WHERE datname = %s", [template])
            if alone.fetchone() is None:
                test["NAME"] = template
                creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
                use(product)
            test.update(NAME=own, TEMPLATE=template)
            creation._create_test_db(verbosity=0, autoclobber=True)
        use(own)
        yield
        use(product)
        with creation._nodb_cursor() as alone:
            alone.execute("SELECT pg_advisory_lock(1)")
            alone.execute(f'DROP DATABASE "{own}"')
            copies = "SELECT FROM pg_database WHERE starts_with(datname, %s)"
            alone.execute(copies, [f"{template}_"])
            if alone.fetchone() is None:
                alone.execute(f'DROP DATABASE "{template}"')


@pytest.fixture(scope="session")
def django_db_setup(_database: None, django_db_blocker: Any) -> Iterator[None]:
    """Run every test with the database role of the product."""
    session: Any = connection
    owner = session.settings_dict
    with django_db_blocker.unblock():
        rls_policies.install_policies()
        # Some tests truncate tables, or delete PostgreSQL's statistics about them.
        with session.cursor() as cursor:
            cursor.execute(
                "GRANT TRUNCATE, MAINTAIN ON ALL TABLES IN SCHEMA public"
                f" TO {settings.DATABASES['default']['USER']}, {rls.BYPASS_ROLE}"
            )
        operations = type(session.ops)
        empty = operations.execute_sql_flush
        product: Any = settings.DATABASES["default"]
        own = {name: product[name] for name in ROLE}
        connection.close()
        session.settings_dict = {**owner, **own}
        # Cached once per process: otherwise the first test would have one query more.
        data_versions._relations()
        data_versions.counted_tables()

    def empty_as_owner(self: Any, statements: list[str]) -> None:
        """Clean up after a test that commits: only the owner may truncate tables."""
        with rls_policies.as_owner():
            empty(self, statements)

    # Patched on the class: a test with a browser has its own connection.
    operations.execute_sql_flush = empty_as_owner
    yield
    operations.execute_sql_flush = empty
    pytest_runtest_setup()
    with django_db_blocker.unblock():
        connection.close()
        session.settings_dict = owner


@pytest.fixture
def valkey() -> redis.Redis:
    """The real Valkey; tests that use it request this (`tests/pure_plugin.py`)."""
    return redis_connection.connection()


@pytest.fixture
def lab(db: None) -> Lab:
    return Lab.objects.create(slug="alpha-lab", name="Alpha lab")


@pytest.fixture
def other_lab(db: None) -> Lab:
    return Lab.objects.create(slug="beta-lab", name="Beta lab")


@pytest.fixture
def agent(lab: Lab) -> Agent:
    return Agent.objects.create(lab=lab, name="alice")


@pytest.fixture
def other_agent(other_lab: Lab) -> Agent:
    return Agent.objects.create(lab=other_lab, name="bob")


@pytest.fixture
def token(agent: Agent) -> str:
    """The secret of a token that may upload to the lab."""
    return tokens.issue_token(agent=agent, can_upload=True, can_manage=True)[1]


@pytest.fixture
def upload_token(agent: Agent) -> str:
    return tokens.issue_token(agent=agent, can_upload=True)[1]


@pytest.fixture
def read_token(agent: Agent) -> str:
    """The secret of a token that may read the lab's private data."""
    return tokens.issue_token(agent=agent, can_read=True)[1]


@pytest.fixture
def other_token(other_agent: Agent) -> str:
    """The secret of the other lab's upload token."""
    return tokens.issue_token(agent=other_agent, can_upload=True, can_manage=True)[1]


@pytest.fixture
def other_read_token(other_agent: Agent) -> str:
    """The secret of the other lab's read token."""
    return tokens.issue_token(agent=other_agent, can_read=True)[1]


@pytest.fixture
def person(lab: Lab) -> Any:
    """Carol, a maintainer of the lab."""
    carol = get_user_model().objects.create_user("carol", password="sesame-open-now")
    Membership.objects.create(lab=lab, user=carol, role=Membership.Role.MAINTAINER)
    return carol


@pytest.fixture
def host(lab: Lab) -> Host:
    return Host.objects.create(lab=lab, slug="alpha", facts={"cores": 2})


@pytest.fixture
def study(lab: Lab) -> Study:
    """A public study of the lab."""
    return Study.objects.create(
        lab=lab, slug="study", title="A study", visibility=Study.Visibility.PUBLIC
    )


@pytest.fixture
def private_study(lab: Lab) -> Study:
    return Study.objects.create(lab=lab, slug="secret-study", title="A secret")


@pytest.fixture
def run_document(host: Host, study: Study) -> Callable[..., dict[str, Any]]:
    """Return an upload of one native network run, with changes.

    ``system`` changes properties of the system; ``value`` is the only sample.
    """

    return partial(upload_documents.network_run, host=host.slug, study=study.slug)


@pytest.fixture
def xen() -> dict[str, Any]:
    """The changes that make the system of `run_document` a Xen guest."""
    return {"hypervisor": "Xen", "hypervisor_version": "3.3", "virtualization": "full"}


@pytest.fixture
def submit(agent: Agent) -> Callable[..., list[Any]]:
    """Accept documents and finish their processing."""

    def take(*documents: dict[str, Any]) -> list[Any]:
        submissions = intake.submit_runs(agent=agent, documents=documents)
        processing.process_due_uploads()
        return submissions

    return take


@pytest.fixture
def publish(person: Any) -> Callable[..., Version]:
    """Publish a study after its runs are processed and checked."""

    def published(study: Study, **changes: Any) -> Version:
        checking.check_due_studies(timedelta(0))
        return publications.published(study, person, **changes)

    return published


@pytest.fixture
def load_study(agent: Agent) -> Callable[..., Study]:
    """Load a published study, or only the runs for which ``wanted`` is true."""
    return partial(reference_studies.load_study, agent)
