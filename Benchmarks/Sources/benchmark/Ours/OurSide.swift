import BenchmarkData
import CipherData
import Foundation

/// Our side of the workloads, through the public object API, by workload ID. A workload that is missing here is measured in C only and
/// marked so.
@MainActor
struct OurSide {
  let options: Options
  let stores: OurStores

  /// - Parameter folder: The folder in memory for the databases, removed at the end with its contents. W14b's database is in
  ///   `options.diskFolder`.
  init(data: UnsafeMutablePointer<bench_data>, folder: String, options: Options) {
    self.options = options
    stores = OurStores(data: data, folder: folder)
  }

  /// Returns the implemented sides.
  func sides() -> [String: Side] {
    var sides = FetchSides(stores).sides()
    sides.merge(FaultSides(stores).sides()) { $1 }
    sides.merge(TraversalSides(stores).sides()) { $1 }
    sides.merge(TagSides(stores).sides()) { $1 }
    sides.merge(WriteSides(stores, diskFolder: options.diskFolder).sides()) { $1 }
    sides.merge(GenerationSides(stores).sides()) { $1 }
    sides.merge(NestingSides(stores).sides()) { $1 }
    sides.merge(UndoSides(stores).sides()) { $1 }
    sides.merge(ResultsSides(stores).sides()) { $1 }
    sides.merge(SnapshotSides(stores).sides()) { $1 }
    sides.merge(MemorySides(stores).sides()) { $1 }
    if let archive = options.archive { sides.merge(ArchiveSides(stores, index: archive).sides()) { $1 } }
    return sides
  }
}
