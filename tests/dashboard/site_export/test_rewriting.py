"""Pages of static copies."""

from dashboard.site_export.rewriting import Links, rewrite_page

LINKS = Links(
    link=lambda url: (f"../{url.strip('/')}/index.html", url.startswith("/login")),
    form=lambda url: (f"https://server{url}", True),
    style=lambda url: f"/* {url} */",
    chart=lambda url: f'{{"data": "</script>{url}"}}',
)


def rewritten(page, **added):
    return rewrite_page(page, LINKS, **added).text


def test_links_and_scripts_get_the_new_address():
    page = '<a class="x" href="/studies/">Studies</a><script src="/a.js"></script>'

    assert rewritten(page) == (
        '<a class="x" href="../studies/index.html">Studies</a>'
        '<script src="../a.js/index.html"></script>'
    )


def test_links_to_the_server_are_marked():
    assert rewritten('<a href="/login/">x</a>') == (
        '<a href="../login/index.html" data-server-link>x</a>'
    )
    assert rewritten("<form class='f'>").startswith("<form action=")
    assert "data-server-link" in rewritten("<form>")


def test_elements_that_need_the_server_are_omitted_with_their_content():
    page = '<nav data-server-only><nav><a href="/x/">&amp;y</a></nav>z</nav><p>kept</p>'

    assert rewritten(page) == "<p>kept</p>"
    assert rewritten("a<input data-server-only>b") == "ab"


def test_chart_data_become_part_of_the_page():
    page = '<figure data-chart data-chart-src="/chart/?a=1&amp;b=2"><svg/></figure>'

    assert rewritten(page) == (
        '<figure data-chart><script type="application/json">'
        '{"data": "\\u003c/script\\u003e/chart/?a=1\\u0026b=2"}</script><svg/></figure>'
    )


def test_stylesheet_that_plotly_changes_becomes_part_of_the_page():
    page = '<link rel="stylesheet" id="plotly.js-style-global" href="/chart.css"><p>'

    assert rewritten(page) == (
        '<style id="plotly.js-style-global">/* /chart.css */</style><p>'
    )


def test_pages_send_no_requests_by_themselves():
    page = (
        '<div id="runs" hx-get="/runs/" hx-trigger="every 2s [isLive]" '
        "data-card-url='/card/'>"
    )

    assert rewritten(page) == '<div id="runs">'


def test_other_text_is_unchanged():
    page = (
        "<!DOCTYPE html><!-- c --><p>&lt;b&#62; <code>href=&quot;/x/&quot;</code></p>"
        '<script type="application/json">{"href=\\"/x/\\"": "<a"}</script>'
        '<svg viewBox="0 0 1 1"><path d="M0"/></svg>'
    )

    assert rewritten(page) == page


def test_title_head_and_note_are_returned_and_added():
    page = "<head><title>A &amp; B</title></head><footer>f</footer>"

    result = rewrite_page(page, LINKS, head="<h>", note="<n>")

    assert result.title == "A & B"
    assert result.text == (
        "<head><title>A &amp; B</title><h></head><footer>f<n></footer>"
    )
