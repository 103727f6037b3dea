// What the sides work on: the data, the folder of the databases, the workloads that were asked for.
import BenchmarkData
import Foundation
import RawFloor

@MainActor
struct Setting {
  let options: Options
  let data: UnsafeMutablePointer<bench_data>
  /// The C side's.
  let state: OpaquePointer
  private let ours: OurSide
  private let peer: Peer?

  /// Makes a setting for the time of a run.
  static func with(_ options: Options, _ body: @MainActor (Setting) async throws -> Void) async throws {
    removeLeftovers(in: options.memoryFolder)
    let folder = "\(options.memoryFolder)/\(folderPrefix)\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    floor_watch_connections()
    guard let data = bench_data_make(options.divisor), let state = floor_open(data, folder, options.diskFolder, options.archive) else {
      throw UsageError(message: "no memory for the data")
    }
    defer {
      floor_close(state)
      bench_data_free(data)
    }
    let peer = try options.peer.map { try Peer($0, folder: folder, diskFolder: options.diskFolder, divisor: options.divisor) }
    defer { peer?.end() }
    let ours = OurSide(data: data, folder: folder, options: options)
    try await body(Setting(options: options, data: data, state: state, ours: ours, peer: peer))
  }

  /// The workloads that were asked for, with the sides that do them.
  func workloads() -> [Workload] {
    let sides = options.floorOnly ? [:] : ours.sides()
    var workloads: [Workload] = []
    for index in 0..<floor_workload_count() {
      var workload = Workload(floorIndex: index, state: state)
      workload.sides[.ours] = sides[workload.id]
      workload.sides[.peer] = peer?.side(workload.id)
      if workload.id == "W2b", !options.floorOnly { workloads.append(FirstOpen.workload(ours.stores)) }
      // Reading what was written is to cost what reading costs.
      if workload.id == "W16d" { workload.sides[.baseline] = sides["W16a"] }
      workloads.append(workload)
    }
    if !options.floorOnly { workloads += HistorySides(ours.stores, diskFolder: options.diskFolder).workloads() }
    workloads += GenerationSides.workloads(sides)
    workloads += NestingSides.workloads(sides)
    workloads += UndoSides.workloads(sides)
    workloads += ResultsSides.workloads(sides)
    workloads += SnapshotSides.workloads(sides)
    return workloads.filter { options.includes($0.id) }
  }

  /// W29, where it was asked for.
  func concurrency() -> Concurrency? { options.floorOnly || !options.includes(Concurrency.id) ? nil : Concurrency(ours.stores) }

  /// W23, where it was asked for.
  func notices() -> Notices? { options.floorOnly || !options.includes(Notices.id) ? nil : Notices(folder: options.diskFolder) }

  /// W30, where it was asked for.
  func sizes() -> Sizes? {
    let sizes = Sizes(options, folder: ours.stores.folder)
    return options.floorOnly || sizes.workloads().isEmpty ? nil : sizes
  }

  private static let folderPrefix = "cipherdata-benchmark-"

  /// Removes the folders of runs that were killed: they would keep memory.
  private static func removeLeftovers(in parent: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(folderPrefix) {
      guard let process = Int32(name.dropFirst(folderPrefix.count)), kill(process, 0) != 0, errno == ESRCH else { continue }
      try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
    }
  }
}
