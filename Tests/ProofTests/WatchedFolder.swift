// WatchedFolder: a folder all of whose files are watched: what is done to them is recorded, and calls fail.
import Foundation
import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

/// A temporary folder, watched as long as it lives. Only one at a time.
final class WatchedFolder {
  private let folder: TemporaryFolder

  /// - Parameter syncs: Whether syncs reach the disk; where crashes are played they need not.
  init(syncs: Bool = false) throws {
    folder = try TemporaryFolder("ProofTests")
    fault_watch(folder.url.path)
    fault_let_syncs_pass(syncs)
  }

  deinit { fault_unwatch() }

  var url: URL { folder.url }

  /// A store's file in it.
  var store: URL { folder.file("proof.store") }

  /// Runs a body while calls of a kind fail; how many did.
  func failing(
    _ call: FaultCall, from first: Int, times: Int, error: Int32, _ body: () throws -> Void
  ) rethrows -> Int {
    fault_arm(fault_plan(call: call.code, first: UInt64(first), times: UInt64(times), error: error))
    defer { fault_disarm() }
    try body()
    return Int(fault_failures())
  }

  /// How many calls of each kind a body makes.
  func counting(_ body: () throws -> Void) rethrows -> [FaultCall: Int] {
    fault_arm_nothing()
    defer { fault_disarm() }
    try body()
    return Dictionary(uniqueKeysWithValues: FaultCall.allCases.map { ($0, Int(fault_calls($0.code))) })
  }

  /// Records what a body does to the files.
  func recording(_ body: () throws -> Void) rethrows -> DiskRecord {
    fault_record_start()
    do { try body() } catch {
      _ = Self.taken()
      throw error
    }
    return DiskRecord(bytes: Self.taken())
  }

  private static func taken() -> [UInt8] {
    var size = 0
    guard let records = fault_record_stop(&size) else { return [] }
    defer { free(records) }
    return [UInt8](UnsafeRawBufferPointer(start: records, count: size))
  }
}
