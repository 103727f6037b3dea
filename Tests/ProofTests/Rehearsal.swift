import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification

/// The contents of a store after one step of a workload.
struct WorkStep: Codable, Sendable {
  var name: String
  /// The contents of the store; nil if the store is missing.
  var contents: [String]?
  var settings: ProofSettings
  /// Whether the state survives a power loss from here on, regardless of the durability.
  var isDurable: Bool
  /// Copies that the step made, and their contents, by name.
  var copies: [String: [String]] = [:]
}

/// The record of a workload that ran once in an empty folder.
struct RecordedWork: Sendable {
  var name: String
  var steps: [WorkStep]
  var record: DiskRecord

  /// Returns the numbers of the last begun and the last acknowledged step at a power loss; -1 if no step was.
  func progress(after count: Int) -> (begun: Int, acknowledged: Int) {
    var (begun, acknowledged) = (-1, -1)
    for case .note(let number) in record.actions.prefix(count) {
      if number % 2 == 0 { begun = number / 2 } else { acknowledged = number / 2 }
    }
    return (begun, acknowledged)
  }
}

/// Performs a workload step by step while its folder is recorded.
final class Rehearsal {
  let folder: WatchedFolder
  var settings: ProofSettings
  private(set) var store: OpenStore?
  private var steps: [WorkStep] = []
  private var contents: [String]?

  private init(_ folder: WatchedFolder, _ settings: ProofSettings) { (self.folder, self.settings) = (folder, settings) }

  /// Performs a workload in an empty folder, and records it.
  ///
  /// - Parameter atEnd: Receives the folder after the workload.
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

  var open: OpenStore { get throws { try XCTUnwrap(store, "no store is open") } }

  /// Performs a step, which is acknowledged when `body` returns.
  func step(_ name: String, isDurable: Bool = false, _ body: () throws -> Void) throws {
    fault_record_note_number(UInt64(2 * steps.count))
    try body()
    fault_record_note_number(UInt64(2 * steps.count + 1))
    if let store { contents = try store.contents() }
    steps.append(WorkStep(name: name, contents: contents, settings: settings, isDurable: isDurable))
  }

  /// Performs a step that makes a copy next to the store.
  func copyingStep(_ name: String, copy: String, _ body: () throws -> Void) throws {
    try step(name, body)
    steps[steps.count - 1].copies[copy] = contents
  }

  /// Opens or makes the store.
  func openStore(_ name: String = "open") throws { try step(name) { store = try settings.open(url) } }

  /// The last connection to close empties the log into the database.
  func closeStore() throws { try step("close", isDurable: true) { try close() } }

  func close() throws {
    try store?.close()
    store = nil
  }

  /// Sets the contents of the store from here on.
  func becomes(_ contents: [String]?) { self.contents = contents }
}

/// A named workload.
struct ProofWork: Sendable {
  var name: String
  var hasHistory = false
  var body: @Sendable (Rehearsal) throws -> Void
}
