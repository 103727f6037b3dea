import Foundation
import XCTest
import _TestSupport

/// Synchronization with a full disk on either side.
final class SyncDiskTests: XCTestCase {
  func testCase19AFullDiskStopsOnlyWhatNeedsTheSpace() async throws {
    let fixture = try await SyncFixture()
    let script = """
      set -e
      cd "$2"
      tool() { "$1" "${@:2}" --passphrase-file passphrase; }
      c() { tool "$T" "$@"; }
      T=$1
      add() { for number in $(seq $2); do echo '{"$entity":"Note","text":"'$3'"}'; done | c import $1 - 2>/dev/null; }
      count() { c fetch $1 --entity Note --properties text --format csv | tail -n +2 | wc -l; }
      pending() { c sync status $1 --format json | sed 's/.*"pendingSaves":\\([0-9]*\\).*/\\1/'; }
      try() { set +e; c "$@" >/dev/null 2>&1; status=$?; set -e; echo $status; }
      mkdir hubs stores
      mount -t tmpfs -o size=3m tmpfs hubs
      mount -t tmpfs -o size=3m tmpfs stores
      mv B.store B.store.keys stores
      c sync start A.store --hub hubs/hub --recovery recovery 2>/dev/null
      c sync join stores/B.store --hub hubs/hub --recovery recovery 2>/dev/null
      # The disk of the hub. A process has it open, so that its log exists.
      "$T" sync run A.store --watch --passphrase-file passphrase >/dev/null 2>&1 &
      watcher=$!
      add A.store 1 "of A"
      for attempt in $(seq 300); do [ "$(pending A.store)" = 0 ] && break; sleep 0.1; done
      add stores/B.store 1 "of B"
      dd if=/dev/zero of=hubs/filler bs=4096 2>/dev/null || true
      echo "full hub: $(try sync run stores/B.store) $(count stores/B.store) $(pending stores/B.store)"
      rm hubs/filler
      echo "free hub: $(try sync run stores/B.store) $(pending stores/B.store)"
      kill -TERM $watcher; wait $watcher || true
      c sync run A.store >/dev/null
      echo "A: $(count A.store)"
      # The disk of a store.
      add A.store 500 "more of A"
      c sync run A.store >/dev/null
      add stores/B.store 1 "more of B"
      dd if=/dev/zero of=stores/filler bs=4096 2>/dev/null || true
      echo "full store: $(try sync run stores/B.store)"
      rm stores/filler
      echo "kept: $(count stores/B.store) $(pending stores/B.store)"
      echo "free store: $(try sync run stores/B.store)"
      c sync run A.store >/dev/null
      echo "A: $(count A.store), B: $(count stores/B.store)"
      """
    let namespaces = getuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
    let command = ["unshare"] + namespaces + ["bash", "-c", script, "bash", try ToolFixture.executable.path, fixture.tool.folder.url.path]
    let run = try ProgramRun(command)
    XCTAssertEqual(
      run.output.split(separator: "\n").map(String.init),
      [
        "full hub: 74 5 1", "free hub: 0 0", "A: 5", "full store: 74", "kept: 6 1", "free store: 0",
        "A: 506, B: 506",
      ])
  }
}
