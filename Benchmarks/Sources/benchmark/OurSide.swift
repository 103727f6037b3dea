// Our side of the workloads, through the public object API: filled in workload by workload.
import BenchmarkData

/// Makes our side of each workload, by the workload's ID. A workload that is not here is measured in C only and marked so.
@MainActor
struct OurSide {
  let data: UnsafeMutablePointer<bench_data>
  /// Where the databases go, in memory; removed at the end with everything in it. W14b's goes to `options.diskFolder`.
  let folder: String
  let options: Options

  /// The sides that exist.
  func sides() async throws -> [String: Side] {
    [:]
  }
}
