"""What a study's comparison can be narrowed to."""

from benchmarks.comparing.facets import facets


def test_it_finds_what_occurs_in_the_order_of_a_menu(study, submit, run_document, xen):
    submit(
        run_document(system=xen, scenario="parallel", vms=2, slot="1"),
        run_document(),
        run_document(system={"guest_os": "Windows", "guest_bits": 64}),
    )

    found = facets(study)

    assert found.scenarios == ("single", "parallel")
    assert found.components == ("network",)
    assert found.tools == (("iometer", "Iometer"),)
    assert found.guest_oses == ("Ubuntu Server 9.04", "Windows")
    assert found.guest_bits == (32, 64)
    assert [system.is_native for system in found.systems] == [True, True, False]


def test_a_study_without_cells_has_none(study, django_assert_num_queries):
    with django_assert_num_queries(1):
        found = facets(study)

    assert (found.scenarios, found.systems) == ((), ())


def test_it_asks_twice_however_much_there_is(
    study, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(2):
        assert len(facets(study).systems) == 5
