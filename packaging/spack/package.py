"""A package of Spack: put it into repos/NAME/packages/forebay/package.py."""

from spack.package import *


class Forebay(CargoPackage):
    """Tiered storage for sequencing pipelines: run unmodified, see where the time goes."""

    license("MIT OR Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.92:", type="build")

    build_directory = "crates/forebay"

    @run_after("install")
    def install_sites(self):
        mkdirp(self.prefix.share.forebay)
        install_tree("sites", self.prefix.share.forebay.sites)
        install_tree("examples/rules", self.prefix.share.forebay.rules)
