import Foundation
import _ProofStore

/// A store that was replaced with an older copy of itself. Its saves since then may be lost, unless the hub has them.
struct SyncRestoration {
  var device: SyncDevice
  /// When the copy was begun. It contains all saves that had returned before.
  var backupBegun: UInt64
  var at: UInt64
}

/// What a process has recorded.
struct SyncProcessLog {
  /// A save, and what is known of it.
  struct Entry {
    var save: SyncSave
    /// When the save returned; nil if the process was killed before.
    var done: UInt64?
    /// Whether all its writes were made. If not, none is sure.
    var isWhole = true
    /// When the hub had it; nil if that was not recorded.
    var sent: UInt64?
  }

  let device: SyncDevice
  /// All saves that may have had an effect.
  private(set) var entries: [Entry] = []
  private(set) var backups: [(device: SyncDevice, name: String, begun: UInt64)] = []

  init(process: Int, device: SyncDevice, _ lines: [SyncLine]) {
    self.device = device
    for line in lines {
      switch line {
      case .begun(let save): entries.append(Entry(save: save))
      case .done(let time, let isWhole):
        guard !entries.isEmpty else { continue }
        entries[entries.count - 1].done = time
        entries[entries.count - 1].isWhole = isWhole
      case .refused: if !entries.isEmpty { entries.removeLast() }
      case .sent(let time): for index in entries.indices where entries[index].sent == nil { entries[index].sent = time }
      case .backedUp(let name, let begun): backups.append((device, name, begun))
      case .opened, .failed: break
      }
    }
  }

  var acknowledgedCount: Int { entries.count { $0.done != nil } }
}

/// Compares what the devices of an account have when they are quiet with what their processes have recorded.
///
/// - All devices have the same, nothing is pending, and the hub has the same records.
/// - Sure saves are those that had returned, unless the store was restored from a copy without them before the hub had them.
/// - What a sure save has inserted exists, unless a save has deleted it, or an object that has ever contained it as a note.
/// - What a sure save has deleted does not exist, nor does what no save has inserted.
/// - A save is there as a whole or not at all.
/// - A register has what one save has written, and no value that a sure save has replaced.
struct SyncVerification {
  private let result: SyncResult
  private let logs: [SyncProcessLog]
  private let restorations: [SyncRestoration]
  /// The saves that may be there, and those that must be there, by their numbers.
  private let saves: [Int64: SyncSave]
  private let sureSaves: Set<Int64>
  /// The objects that may be deleted.
  private let doomed: Set<String>
  /// What saves have written to registers.
  private let writes: [Register: [(save: Int64, write: SyncWrite)]]

  private struct Register: Hashable {
    var key: String
    var register: SyncRegister
  }

  init(_ result: SyncResult, _ logs: [SyncProcessLog], _ restorations: [SyncRestoration]) {
    (self.result, self.logs, self.restorations) = (result, logs, restorations)
    var (saves, sure): ([Int64: SyncSave], Set<Int64>) = ([:], [])
    for log in logs {
      let ofDevice = restorations.filter { $0.device == log.device }
      for entry in log.entries {
        saves[entry.save.number] = entry.save
        if Self.isSure(entry, ofDevice) { sure.insert(entry.save.number) }
      }
    }
    (self.saves, sureSaves) = (saves, sure)
    var doomed = Set(saves.values.flatMap(\.deleted))
    for write in saves.values.flatMap(\.writes) where Self.isNote(write.object) {
      if let container = write.container, doomed.contains(container) { doomed.insert(write.object) }
    }
    self.doomed = doomed
    var writes: [Register: [(save: Int64, write: SyncWrite)]] = [:]
    for save in saves.values {
      for write in save.writes { writes[Register(key: write.object, register: write.register), default: []].append((save.number, write)) }
    }
    self.writes = writes
  }

  private func writes(to key: String, _ register: SyncRegister) -> [(save: Int64, write: SyncWrite)] {
    writes[Register(key: key, register: register)] ?? []
  }

  private static func isSure(_ entry: SyncProcessLog.Entry, _ restorations: [SyncRestoration]) -> Bool {
    guard let done = entry.done, entry.isWhole else { return false }
    return restorations.allSatisfy { restoration in
      done > restoration.at || done < restoration.backupBegun || entry.sent.map { $0 < restoration.at } ?? false
    }
  }

  private static func isNote(_ key: String) -> Bool { key.hasPrefix("N") }

  /// Returns the first problem, or nil.
  func problem() -> String? {
    for replica in result.replicas {
      if let problem = difference(of: replica) { return problem }
    }
    guard let objects = result.replicas.first?.objects else { return "no device" }
    for (key, object) in objects.sorted(by: { $0.key < $1.key }) {
      if let problem = problem(of: object, key) { return problem }
    }
    for save in saves.values.sorted(by: { $0.number < $1.number }) {
      if let problem = problem(of: save, objects) { return problem }
    }
    return nil
  }

  /// The number of objects that must exist.
  var requiredCount: Int { sureSaves.reduce(0) { $0 + (saves[$1]?.inserted.count { !doomed.contains($0) } ?? 0) } }

  private func difference(of replica: SyncResult.Replica) -> String? {
    let first = result.replicas[0]
    for key in Set(first.objects.keys).union(replica.objects.keys).sorted() where first.objects[key] != replica.objects[key] {
      let states = [first, replica].map { $0.objects[key].map { "\($0)" } ?? "nothing" }
      return "diverged: \(key) is \(states[0]) on \(first.device) and \(states[1]) on \(replica.device)"
    }
    if replica.pendingCount != 0 { return "\(replica.device) has \(replica.pendingCount) pending saves" }
    if let difference = replica.difference { return "\(replica.device) is not as on the hub: \(difference)" }
    return nil
  }

  private func problem(of save: SyncSave, _ objects: [String: SyncedObjectState]) -> String? {
    let isSure = sureSaves.contains(save.number)
    if isSure, let key = save.deleted.first(where: { objects[$0] != nil }) { return "lost: save \(save.number) has deleted \(key)" }
    let required = save.inserted.filter { !doomed.contains($0) }
    let missing = required.filter { objects[$0] == nil }
    if isSure, let key = missing.first { return "lost: save \(save.number) has inserted \(key)" }
    if !missing.isEmpty, missing.count < required.count { return "torn: of save \(save.number), only \(missing) are missing" }
    return nil
  }

  private func problem(of object: SyncedObjectState, _ key: String) -> String? {
    guard object.text == "\(object.value)" else { return "torn: \(key) has the value \(object.value) and the text \(object.text)" }
    guard let value = write(of: object.value, key, .value) else { return "\(key) has the value \(object.value), which no save has written" }
    guard let place = write(of: object.place, key, .place) else { return "\(key) has the place \(object.place), which no save has written" }
    guard object.container == place.container || object.container == nil && mayLoseItsContainer(key) else {
      return "torn: save \(object.place) has moved \(key) to \(place.container ?? "nothing"), and it is in \(object.container ?? "nothing")"
    }
    for write in [value, place] {
      let number = write.register == .value ? object.value : object.place
      if let later = sureReplacement(of: number, key, write.register) {
        return "lost: save \(later) has replaced the \(write.register) of \(key), which has that of save \(number)"
      }
    }
    return nil
  }

  private func write(of save: Int64, _ key: String, _ register: SyncRegister) -> SyncWrite? {
    writes(to: key, register).first { $0.save == save }?.write
  }

  /// Whether the object may be in no container: a folder that has contained it may be deleted, and a folder's cover may be replaced.
  private func mayLoseItsContainer(_ key: String) -> Bool {
    if Self.isNote(key) { return false }
    return key.hasPrefix("C") || writes(to: key, .place).contains { $0.write.container.map(doomed.contains) ?? false }
  }

  /// Returns a sure save that has replaced what a save has written, directly or after others.
  private func sureReplacement(of number: Int64, _ key: String, _ register: SyncRegister) -> Int64? {
    var (reached, next) = (Set<Int64>(), [number])
    while let current = next.popLast() {
      for (save, write) in writes(to: key, register) where write.replaced == current {
        if sureSaves.contains(save) { return save }
        if reached.insert(save).inserted { next.append(save) }
      }
    }
    return nil
  }
}
