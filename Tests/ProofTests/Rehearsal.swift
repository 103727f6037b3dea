// Rehearsal: a work on a store, step by step, with a record of all that it did to the files.
import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification

/// What a store holds after one step of a work.
struct WorkStep: Codable, Sendable {
  var name: String
  /// All that the store holds; nil where there is none.
  var contents: [String]?
  var settings: ProofSettings
  /// Whether what came before it outlives a power cut from here on, whatever the durability.
  var isDurable: Bool
  /// Copies that the step made, by name, with what they hold.
  var copies: [String: [String]] = [:]
}

/// A work that was done once, from an empty folder on.
struct RecordedWork: Sendable {
  var name: String
  var steps: [WorkStep]
  var record: DiskRecord

  /// What had been begun and what acknowledged when the power was cut: numbers of steps, -1 where none was.
  func progress(after count: Int) -> (begun: Int, acknowledged: Int) {
    var (begun, acknowledged) = (-1, -1)
    for case .note(let number) in record.actions.prefix(count) {
      if number % 2 == 0 { begun = number / 2 } else { acknowledged = number / 2 }
    }
    return (begun, acknowledged)
  }
}

/// Does a work while its folder is watched.
final class Rehearsal {
  let folder: WatchedFolder
  var settings: ProofSettings
  private(set) var store: OpenStore?
  private var steps: [WorkStep] = []
  private var contents: [String]?

  private init(_ folder: WatchedFolder, _ settings: ProofSettings) { (self.folder, self.settings) = (folder, settings) }

  /// Does a work in an empty folder, and records it.
  ///
  /// - Parameter atEnd: Sees the folder as the work leaves it.
  static func record(_ work: ProofWork, isFast: Bool, atEnd: (URL) throws -> Void = { _ in }) throws -> RecordedWork {
    let folder = try WatchedFolder()
    var settings = ProofSettings()
    settings.isFast = isFast
    settings.hasHistory = work.hasHistory
    let rehearsal = Rehearsal(folder, settings)
    let record = try folder.recording {
      try work.body(rehearsal)
      try rehearsal.close()
    }
    try atEnd(folder.url)
    return RecordedWork(name: "\(work.name)\(isFast ? ", fast" : "")", steps: rehearsal.steps, record: record)
  }

  var url: URL { folder.store }

  /// The open store.
  var open: OpenStore { get throws { try XCTUnwrap(store, "no store is open") } }

  /// One step, which is acknowledged when its body returns.
  func step(_ name: String, isDurable: Bool = false, _ body: () throws -> Void) throws {
    fault_record_note_number(UInt64(2 * steps.count))
    try body()
    fault_record_note_number(UInt64(2 * steps.count + 1))
    if let store { contents = try store.contents() }
    steps.append(WorkStep(name: name, contents: contents, settings: settings, isDurable: isDurable))
  }

  /// A step that makes a copy beside the store.
  func copyingStep(_ name: String, copy: String, _ body: () throws -> Void) throws {
    try step(name, body)
    steps[steps.count - 1].copies[copy] = contents
  }

  /// Opens the store, or makes it.
  func openStore(_ name: String = "open") throws { try step(name) { store = try settings.open(url) } }

  /// The last one closes the log: what was saved is in the database.
  func closeStore() throws { try step("close", isDurable: true) { try close() } }

  func close() throws {
    try store?.close()
    store = nil
  }

  /// From here on the store holds something else.
  func becomes(_ contents: [String]?) { self.contents = contents }
}

/// A work by its name.
struct ProofWork: Sendable {
  var name: String
  var hasHistory = false
  var body: @Sendable (Rehearsal) throws -> Void
}
