"""A plan created in a real browser, and its page that updates itself."""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from playwright.sync_api import expect

from benchmarks.models import Agent, Lab, Membership, Plan, Study
from benchmarks.plans import coordination
from benchmarks.plans.planning import stop_plan
from benchmarks.studies import systems
from tests.dashboard import browser_site, served_studies

pytestmark = pytest.mark.browser

NEW = "/studies/alpha-lab/study/plans/new/"


@pytest.fixture
def site(transactional_db):
    """Serve a lab with one study, one system, one agent and one user."""
    connection.close()  # the server of another module may have closed it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="study", title="A study")
    systems.register_host(lab=lab, slug="alpha")
    described = {"host": "alpha", "hypervisor": "KVM", "guest_os": "Debian 12"}
    systems.register_system(lab=lab, description=described)
    Agent.objects.create(lab=lab, name="alice")
    carol = get_user_model().objects.create_user("carol", password="sesame-open")
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with served_studies.served() as address:
        yield address


def submit_plan(visit):
    """Sign in, and submit the form of a plan."""
    page = visit.open(f"/login/?next={NEW}")
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill("sesame-open")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Title").fill("Two guests")
    page.get_by_role("checkbox", name="KVM, Debian 12").check()
    page.get_by_role("spinbutton", name="guests KVM").fill("2")
    page.get_by_role("checkbox", name="hackbench").check()
    page.get_by_role("checkbox", name="One guest alone").uncheck()
    page.get_by_role(
        "checkbox", name="The same benchmark in several guests at once"
    ).check()
    assert browser_site.too_wide(page) == []
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url("**/plans/*/")
    return page


def join(plan, name):
    """Join as an agent does, up to the barrier."""
    agent = Agent.objects.get()
    system = plan.slots.first().system_id
    slot = coordination.join_plan(
        plan_id=plan.pk, agent=agent, name=name, system=system
    )
    asked = {"lab": agent.lab, "plan_id": plan.pk, "slot_id": slot.pk}
    part = coordination.next_part(**asked).part
    coordination.arrive_at_barrier(
        lab=agent.lab, part_id=part.pk, attempt=part.step.attempt, clock_id="c"
    )


@pytest.mark.parametrize("width", [360, 1440])
def test_plan_is_created_and_updates_without_reload(chromium, site, width):
    size = {"width": width, "height": 900}
    with browser_site.window(chromium, site, viewport=size) as at:
        page = submit_plan(at)
        expect(page.locator("#plan")).to_contain_text("Agents have to join first")
        plan = Plan.objects.get()

        stop = page.locator("summary", has_text="Stop this plan")
        stop.press("Enter")
        join(plan, "vm-a")
        expect(page.locator(".slot-arrived")).to_contain_text("slot 1 (vm-a)")
        expect(stop).to_be_focused()
        expect(page.get_by_role("button", name="Yes, stop")).to_be_visible()
        expect(page.locator(".slot-awaited")).to_contain_text("slot 2")

        stop_plan(plan=plan)
        expect(page.locator("#plan")).to_contain_text("The plan has ended.")
        assert browser_site.too_wide(page) == []
        assert (at.errors, browser_site.violations(page)) == ([], [])


def test_updates_keep_focus_and_can_be_paused(chromium, site):
    with browser_site.window(chromium, site) as at:
        page = submit_plan(at)
        link = page.get_by_role("link", name="Download agent")
        hold = page.get_by_role("button", name="Pause updates")
        plan = Plan.objects.get()

        link.focus()
        join(plan, "vm-a")
        expect(page.locator(".slot-arrived")).to_be_visible()
        expect(link).to_be_focused()

        hold.press("Enter")
        stop_plan(plan=plan)
        page.wait_for_timeout(2_500)
        expect(page.locator("#plan")).not_to_contain_text("The plan has ended.")
        hold.press("Enter")
        expect(page.locator("#plan")).to_contain_text("The plan has ended.")
        expect(page.locator("[data-announcement]")).to_contain_text("skipped")
