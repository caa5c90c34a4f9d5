"""What staying on an instance store costs in the end: an assembly runs there, and what it left is
copied to storage that lasts, timed and priced, beside the same assembly on EBS from the start.

The instance store is this machine's disk, the other storages are emulated. The source ran its
assemblies on such a machine; it says that an instance store must be emptied before the machine goes,
and gives no times of that.
"""
import shutil

# How much what lasts costs is in the price of what is copied there; the instance store comes with
# the machine.
LASTING = ["ebs-gp3", "efs-elastic", "s3-mount"]
# The copy lasts when it is off this machine: bytes and names are synced.
COPY = 'cp -r "$0" evacuated && find evacuated -type f -exec sync {} +'


def left(study, command):
    """What an assembly leaves where it ran: intermediate files and results."""
    kept = study.OUT / "left"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    study.call(kept, *command)
    return kept


def compare(forebay, repeat, study):
    """The rows: each storage that what was left is copied to."""
    command = study.prepared("evacuation", "assembly")
    kept = left(study, command)
    files = [path for path in kept.rglob("*") if path.is_file()]
    copy = ["sh", "-c", COPY, kept]
    # The first is the storage of the record, with which the model is compared.
    storages = ["local", *LASTING]
    before = study.predicted(forebay, study.recorded(forebay, "evacuation", copy), storages)
    instance = study.EDITIONS["trinity"].instance
    price = "--cache", "warm", "--instance", instance
    copies = study.measured(forebay, "evacuation", storages, repeat, copy, price)
    # Trinity's own comparison has run it already, unless it was left out.
    runs = study.DONE.get("trinity") or study.measured(
        forebay, "evacuation-run", ["local", "ebs-gp3"], repeat, command, price)
    stays, ebs = runs["local"], runs["ebs-gp3"]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    print(f"\nevacuation: {len(files)} files, {megabytes:.1f} MB, are left by an assembly on the"
          f" instance store; prices of {instance} and of what lasts; the assembly takes"
          f" {stays['median_s']:.1f} s there and {ebs['median_s']:.1f} s on ebs-gp3 (emulated)\n\n"
          "| to | published | predicted, s | measured, s | usd | run and evacuation, s | usd"
          " | over the run on ebs-gp3: s | usd |\n" + "|---" * 9 + "|")
    for storage in LASTING:
        one = copies[storage]
        seconds, usd = stays["median_s"] + one["median_s"], stays["usd"] + one["usd"]
        print(f"| {storage} (emulated) | - | {before[storage]:.2f} | {one['median_s']:.2f} |"
              f" {one['usd']:.5f} | {seconds:.1f} | {usd:.5f} | {seconds / ebs['median_s']:.2f} times |"
              f" {usd / ebs['usd']:.2f} times |", flush=True)
        yield {"edition": "evacuation", "storage": storage, "files": len(files),
               "megabytes": megabytes, "predicted_s": before[storage], "measured": one,
               "run_and_evacuation_s": seconds, "run_and_evacuation_usd": usd, "run_on_ebs": ebs,
               "when": study.time.strftime("%F %T")}
