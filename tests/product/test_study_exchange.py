"""Studies move as files to an empty installation, which exports the same files."""

import pytest

from benchmarks.reference.study_documents import reference_study
from devtools.temporary_product import running_product
from running.load_reference import create_reference_study
from running.product_launcher import wait_until_processed

pytestmark = [pytest.mark.product, pytest.mark.slow, pytest.mark.timeout(1800)]

LARGE = "nsdi-2020-microvm"


def test_all_studies_move_to_an_empty_installation(start_product, tmp_path):
    source = start_product()
    source.wait_until_ready()
    client = source.client()
    large = reference_study(LARGE)
    create_reference_study(client, large)
    for _ in client.upload(large.runs):
        pass
    wait_until_processed(client)
    slugs = [study["slug"] for study in client.get_all("studies/")]
    files = {slug: client.get_file("study-file/", study=slug) for slug in slugs}
    assert len(files) > 10
    source.stop()

    with running_product(tmp_path / "empty") as empty:
        client = empty.client()
        for slug in reversed(slugs):
            assert client.import_study(files[slug])["repeated"] == 0
            client.update_study(slug, {"visibility": "public"})
        wait_until_processed(client)
        again = {slug: client.get_file("study-file/", study=slug) for slug in slugs}

    assert again == files
