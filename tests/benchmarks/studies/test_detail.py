"""Details of a study."""

from benchmarks.models import Run
from benchmarks.studies.overview import study_detail
from tests import job_queue


def test_detail_lists_systems_and_coverage(study, host, submit, run_document, xen):
    submit(
        run_document(document="Gebhardt 2010"),
        run_document(13.08, system=xen),
        run_document(12.0, system=xen, scenario="parallel", vms=2, slot="1"),
    )

    detail = study_detail(study)

    assert detail.scenarios == ("single", "parallel")
    (network,) = detail.coverage
    assert network.component == "network"
    assert network.tools == ("Iometer",)
    assert network.by_scenario == (("single", 2), ("parallel", 1))
    assert [system.cell_count for system in detail.systems] == [1, 2]
    assert detail.systems[0].is_native
    assert detail.hosts == (host,)
    assert detail.sources == (("Gebhardt 2010", 1),)
    assert detail.unread_runs == ()


def test_detail_lists_failed_runs(study, submit, run_document):
    submit(run_document(), run_document())
    bad, waiting = Run.objects.order_by("pk")
    Run.objects.filter(pk=bad.pk).update(status="quarantined", reason="It broke.")
    Run.objects.filter(pk=waiting.pk).update(status="received")
    job_queue.put_upload(waiting, error="Not yet.")

    failures = study_detail(study).unread_runs

    assert [run.pk for run in failures] == [waiting.pk, bad.pk]
    assert failures[0].job.error == "Not yet."
    assert failures[1].reason == "It broke."


def test_empty_study_has_empty_detail(study):
    detail = study_detail(study)

    assert (detail.systems, detail.coverage, detail.hosts) == ((), (), ())


def test_number_of_queries_is_constant(
    study, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(6)))

    with django_assert_num_queries(7):
        assert len(study_detail(study).systems) == 6
