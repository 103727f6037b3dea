import Foundation

/// A large store that is mirrored to an empty device: time, memory and sizes of each step, each in a process of its own.
@MainActor
struct Mirror {
  let count: Int
  let folder: String

  /// Runs the steps, and prints a table.
  func run() throws {
    let folder = "\(folder)/cipherdata-mirror-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (source, target, hub) = ("\(folder)/source.store", "\(folder)/target.store", "\(folder)/hub.store")
    print("| step, \(count) objects | wall, s | CPU, s | peak memory, MB | store, MB | hub, MB |\n|---|---:|---:|---:|---:|---:|")
    var checksums: Set<UInt64> = []
    for (work, path) in [(StaffChild.Work.fill, source), (.send, source), (.join, target), (.verify, target)] {
      let answer = try StaffChild(work: work, path: path, hub: hub, count: count).start()
      checksums.insert(answer.checksum)
      let sizes = [answer.memory, Double(StaffStores.size(path)), Double(StaffStores.size(hub))].map { $0 / 1e6 }
      let cells = ([answer.measured.wall, answer.measured.cpu] + sizes).map { String(format: "%.1f", $0) }
      print("| \(work.rawValue) | \(cells.joined(separator: " | ")) |")
      fflush(nil)
    }
    if checksums.count != 1 { throw StaffChild.Difference(path: target) }
  }
}
