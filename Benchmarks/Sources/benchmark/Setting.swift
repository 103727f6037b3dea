import BenchmarkData
import Foundation
import RawSQLCipher

@MainActor
struct Setting {
  let options: Options
  let data: UnsafeMutablePointer<bench_data>
  /// The state of the C side.
  let state: OpaquePointer
  private let ours: OurSide
  private let peer: Peer?

  /// Runs `body` with the setting of a run.
  static func with(_ options: Options, _ body: @MainActor (Setting) async throws -> Void) async throws {
    removeLeftovers(in: options.memoryFolder)
    let folder = "\(options.memoryFolder)/\(folderPrefix)\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    raw_watch_connections()
    guard let data = bench_data_make(options.divisor), let state = raw_open(data, folder, options.diskFolder, options.archive) else {
      throw UsageError(message: "no memory for the data")
    }
    defer {
      raw_close(state)
      bench_data_free(data)
    }
    let peer = try options.peer.map { try Peer($0, folder: folder, diskFolder: options.diskFolder, divisor: options.divisor) }
    defer { peer?.end() }
    let ours = OurSide(data: data, folder: folder, options: options)
    try await body(Setting(options: options, data: data, state: state, ours: ours, peer: peer))
  }

  /// Returns the selected workloads with their sides.
  func workloads() -> [Workload] {
    let sides = options.rawOnly ? [:] : ours.sides()
    var workloads: [Workload] = []
    for index in 0..<raw_workload_count() {
      var workload = Workload(rawIndex: index, state: state)
      workload.sides[.ours] = sides[workload.id]
      workload.sides[.peer] = peer?.side(workload.id)
      if workload.id == "W2b", !options.rawOnly { workloads.append(FirstOpen.workload(ours.stores)) }
      // Reading written values must cost no more than reading unchanged ones.
      if workload.id == "W16d" { workload.sides[.baseline] = sides["W16a"] }
      workloads.append(workload)
    }
    if !options.rawOnly { workloads += HistorySides(ours.stores, diskFolder: options.diskFolder).workloads() }
    workloads += GenerationSides.workloads(sides)
    workloads += NestingSides.workloads(sides)
    workloads += UndoSides.workloads(sides)
    workloads += ResultsSides.workloads(sides)
    workloads += SnapshotSides.workloads(sides)
    if !options.rawOnly { workloads += SyncSides(ours.stores, divisor: options.divisor).workloads() }
    return workloads.filter { options.includes($0.id) }
  }

  /// Returns W29, if selected.
  func concurrency() -> Concurrency? { options.rawOnly || !options.includes(Concurrency.id) ? nil : Concurrency(ours.stores) }

  /// Returns W23, if selected.
  func notices() -> Notices? { options.rawOnly || !options.includes(Notices.id) ? nil : Notices(folder: options.diskFolder) }

  /// Returns W34, if selected.
  func delays() -> SyncDelays? { options.rawOnly || !options.includes(SyncDelays.id) ? nil : SyncDelays(folder: ours.stores.folder) }

  /// Returns W30, if selected.
  func sizes() -> Sizes? {
    let sizes = Sizes(options, folder: ours.stores.folder)
    return options.rawOnly || sizes.workloads().isEmpty ? nil : sizes
  }

  private static let folderPrefix = "cipherdata-benchmark-"

  /// Removes the folders of killed runs, which would occupy memory.
  private static func removeLeftovers(in parent: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(folderPrefix) {
      guard let process = Int32(name.dropFirst(folderPrefix.count)), kill(process, 0) != 0, errno == ESRCH else { continue }
      try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
    }
  }
}
