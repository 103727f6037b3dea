import Foundation
import _TestSupport

/// Which of the unsynced changes are on the disk after a crash.
enum CrashManner: String, Codable, CaseIterable, Sendable {
  /// All: the process was killed.
  case all
  /// None.
  case nothing
  /// The first ones, per file; the last write is torn.
  case beginning
  /// A random selection in any order; writes are torn at sectors.
  case some
  /// Nearly all: a few writes, or sectors of writes, are missing.
  case most
}

/// Files and folders by path; folders have no bytes.
typealias DiskImage = [String: Data?]

/// The state of a folder at one point of a record: the state visible to programs, and the durable part of it.
///
/// The model is that of POSIX: syncing a file makes its bytes and size durable, syncing a folder the names in it. Unsynced name changes
/// survive up to some last one, per folder. A rename between two folders is in both or in neither.
struct CrashDisk {
  private enum Change {
    case write(offset: Int, bytes: Range<Int>)
    case resize(Int)
  }

  private struct Node {
    var isFolder: Bool
    var entries: [String: Int] = [:]
    var changes: [Change] = []
    /// The number of durable changes.
    var durable = 0
  }

  /// A change of names: the node that each name refers to from then on.
  private struct NameChange {
    var entries: [(folder: Int, name: String, node: Int?)]
  }

  private let record: DiskRecord
  private var nodes = [Node(isFolder: true)]
  private var handles: [UInt32: Int] = [:]
  private var names: [NameChange] = []
  /// The number of durable name changes, by folder.
  private var durableNames: [Int: Int] = [:]

  /// - Parameter ignoresSyncs: Whether the disk acknowledges syncs without performing them.
  init(_ record: DiskRecord, after count: Int, ignoresSyncs: Bool = false) {
    self.record = record
    for action in record.actions.prefix(count) { apply(action, ignoresSyncs: ignoresSyncs) }
  }

  private func node(_ path: String) -> Int? {
    var node = 0
    for part in path.split(separator: "/") {
      guard let next = nodes[node].entries[String(part)] else { return nil }
      node = next
    }
    return node
  }

  private func place(_ path: String) -> (folder: Int, name: String)? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: true)
    guard let last = parts.last, let folder = node(parts.dropLast().joined(separator: "/")) else { return nil }
    return (folder, String(last))
  }

  private mutating func change(_ entries: [(folder: Int, name: String, node: Int?)]) {
    for (folder, name, node) in entries { nodes[folder].entries[name] = node }
    names.append(NameChange(entries: entries))
  }

  private mutating func apply(_ action: DiskRecord.Action, ignoresSyncs: Bool) {
    switch action {
    case .open(let handle, let path, let makes, let empties):
      if let node = node(path) {
        handles[handle] = node
        if empties, !nodes[node].isFolder { nodes[node].changes.append(.resize(0)) }
      } else if makes, let (folder, name) = place(path) {
        nodes.append(Node(isFolder: false))
        handles[handle] = nodes.count - 1
        change([(folder, name, nodes.count - 1)])
      }
    case .write(let handle, let offset, let bytes):
      if let node = handles[handle] { nodes[node].changes.append(.write(offset: offset, bytes: bytes)) }
    case .resize(let handle, let size):
      if let node = handles[handle] { nodes[node].changes.append(.resize(size)) }
    case .sync(let handle):
      guard !ignoresSyncs, let node = handles[handle] else { return }
      if nodes[node].isFolder { durableNames[node] = names.count } else { nodes[node].durable = nodes[node].changes.count }
    case .rename(let old, let new):
      guard let node = node(old), let from = place(old), let to = place(new) else { return }
      change([(from.folder, from.name, nil), (to.folder, to.name, node)])
    case .link(let old, let new):
      guard let node = node(old), let to = place(new) else { return }
      change([(to.folder, to.name, node)])
    case .remove(let path):
      guard let (folder, name) = place(path) else { return }
      change([(folder, name, nil)])
    case .makeFolder(let path):
      guard let (folder, name) = place(path) else { return }
      nodes.append(Node(isFolder: true))
      change([(folder, name, nodes.count - 1)])
    case .note: break
    }
  }

  // MARK: The state after a power loss

  /// Returns a possible state of the disk after a power loss at this point. The log's index is omitted, since it does not persist.
  func image(_ manner: CrashManner, _ random: inout SeededGenerator) -> DiskImage {
    let entries = keptEntries(manner, &random)
    var image: DiskImage = [:]
    func add(_ node: Int, _ path: String) {
      for (name, child) in entries[node, default: [:]].sorted(by: { $0.key < $1.key }) where !name.hasSuffix("-shm") {
        let place = path.isEmpty ? name : path + "/" + name
        image[place] = .some(nodes[child].isFolder ? nil : bytes(of: nodes[child], manner, &random))
        if nodes[child].isFolder { add(child, place) }
      }
    }
    add(0, "")
    return image
  }

  /// The names on the disk, by folder.
  private func keptEntries(_ manner: CrashManner, _ random: inout SeededGenerator) -> [Int: [String: Int]] {
    // A durable change makes all earlier changes in its folders durable.
    var durable = durableNames
    var isDurable = [Bool](repeating: false, count: names.count)
    for index in names.indices.reversed() {
      let folders = names[index].entries.map(\.folder)
      guard folders.contains(where: { index < durable[$0, default: 0] }) else { continue }
      isDurable[index] = true
      for folder in folders { durable[folder] = max(durable[folder, default: 0], index + 1) }
    }
    let open = names.indices.filter { !isDurable[$0] }
    // In half of the cases, name changes have one order across all folders, as on journaling file systems.
    let isInOneOrder = Bool.random(using: &random)
    let last = open.isEmpty ? 0 : Int.random(in: 0...open.count, using: &random)
    var stopped: Set<Int> = []
    var entries: [Int: [String: Int]] = [:]
    var number = 0
    for index in names.indices {
      if !isDurable[index] {
        number += 1
        let folders = names[index].entries.map(\.folder)
        let isKept: Bool
        switch manner {
        case .all: isKept = true
        case .nothing: isKept = false
        case .beginning, .some, .most:
          isKept = isInOneOrder ? number <= last : Int.random(in: 0..<4, using: &random) > 0 && stopped.isDisjoint(with: folders)
        }
        guard isKept else {
          stopped.formUnion(folders)
          continue
        }
      }
      for (folder, name, node) in names[index].entries { entries[folder, default: [:]][name] = node }
    }
    return entries
  }

  private func bytes(of node: Node, _ manner: CrashManner, _ random: inout SeededGenerator) -> Data {
    var bytes = Data()
    for change in node.changes.prefix(node.durable) { apply(change, to: &bytes) }
    let open = node.changes.dropFirst(node.durable)
    guard !open.isEmpty else { return bytes }
    switch manner {
    case .nothing: break
    case .all: for change in open { apply(change, to: &bytes) }
    case .beginning:
      let count = Int.random(in: 0...open.count, using: &random)
      for change in open.prefix(count) { apply(change, to: &bytes) }
      if let torn = open.dropFirst(count).first { applyTorn(torn, to: &bytes, &random) }
    case .some, .most:
      let share = manner == .most ? 30 : [3, 16, 29][Int.random(in: 0..<3, using: &random)]
      for change in open {
        guard Int.random(in: 0..<32, using: &random) < share else {
          grow(change, &bytes, &random)
          continue
        }
        if Int.random(in: 0..<(manner == .most ? 16 : 4), using: &random) == 0 {
          applyTorn(change, to: &bytes, &random)
        } else {
          apply(change, to: &bytes)
        }
      }
    }
    return bytes
  }

  private func apply(_ change: Change, to bytes: inout Data) {
    switch change {
    case .resize(let size):
      bytes.count = size
    case .write(let offset, let range):
      Self.grow(&bytes, to: offset + range.count)
      record.bytes.withUnsafeBytes { source in
        guard let start = source.baseAddress else { return }
        bytes.replaceSubrange(offset..<offset + range.count, with: start + range.lowerBound, count: range.count)
      }
    }
  }

  /// Applies some of a write's sectors.
  private func applyTorn(_ change: Change, to bytes: inout Data, _ random: inout SeededGenerator) {
    guard case .write(let offset, let range) = change else { return apply(change, to: &bytes) }
    var position = range.lowerBound
    while position < range.upperBound {
      let place = offset + position - range.lowerBound
      let end = min(range.upperBound, position + Self.sector - place % Self.sector)
      if Bool.random(using: &random) { apply(.write(offset: place, bytes: position..<end), to: &bytes) }
      position = end
    }
  }

  /// A file system may record a file's new size before its bytes.
  private func grow(_ change: Change, _ bytes: inout Data, _ random: inout SeededGenerator) {
    guard case .write(let offset, let range) = change, Int.random(in: 0..<4, using: &random) == 0 else { return }
    Self.grow(&bytes, to: offset + range.count)
  }

  private static let sector = 512

  private static func grow(_ bytes: inout Data, to size: Int) {
    if size > bytes.count { bytes.count = size }
  }

  // MARK: Images as files

  /// Writes an image into an empty folder.
  static func write(_ image: DiskImage, to folder: URL) throws {
    // A folder precedes its contents.
    for (path, bytes) in image.sorted(by: { $0.key < $1.key }) {
      let place = folder.appendingPathComponent(path)
      if let bytes {
        try bytes.write(to: place)
      } else {
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      }
    }
  }
}
