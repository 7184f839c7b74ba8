"""A new project of ``init``: its application in a browser, first with the package's page, then with its own build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.browser.chromium import ROOT, Browser, installed
from tests.support.serving import served

MESSAGE = "textarea[aria-label=Message]"


def test_a_new_project_and_its_own_page(page: Browser, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "yai_nexus_agentkit", "init", "mine"], cwd=tmp_path, check=True)
    project = tmp_path / "mine"

    with served("app:app", folder=project, factory=False) as url:
        page.open(url)
        page.click("button:has-text('How is the weather in Berlin?')")
        page.see("article >> text=The tool look_up_weather says: sunny, 21 °C")
        page.see("nav >> text=How is the weather in Berlin?")

    build(project)
    with served("app:app", folder=project, factory=False) as url:
        page.open(url)
        page.see("html[lang=en-GB]")
        page.click("nav >> text=How is the weather in Berlin?")
        page.see("article >> text=The tool look_up_weather says: sunny, 21 °C")
        page.fill(MESSAGE, "Write to ann@example.com")
        page.press(MESSAGE, "Enter")
        page.see("text=Send this mail to ann@example.com?")
        page.picture("starter")
        page.click("button:text-is('Yes')")
        page.see("article >> text=The tool send_mail says: The mail to ann@example.com is sent.")


def build(project: Path) -> None:
    """Change the page and build it as its README says. The npm packages are those of the package's own page, whose lock
    file is the same."""
    page = project / "page"
    web = installed(ROOT / "src/yai_nexus_agentkit/page/web", "vite")
    (page / "node_modules").symlink_to(web / "node_modules")
    index = page / "index.html"
    index.write_text(index.read_text("utf-8").replace('lang="en"', 'lang="en-GB"'), "utf-8")
    done = subprocess.run(["npm", "run", "build"], cwd=page, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
