import Foundation
import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

/// A temporary folder whose files are watched as long as the object exists: changes can be recorded, and calls can fail. Only one can exist
/// at a time.
final class WatchedFolder {
  private let folder: TemporaryFolder

  /// - Parameter syncs: Whether syncs reach the disk, which simulated crashes do not need.
  init(syncs: Bool = false) throws {
    folder = try TemporaryFolder("ProofTests")
    fault_watch(folder.url.path)
    fault_let_syncs_pass(syncs)
  }

  deinit { fault_unwatch() }

  var url: URL { folder.url }

  var store: URL { folder.file("proof.store") }

  /// Runs `body` while calls of a kind fail. Returns the number of failed calls.
  func failing(
    _ call: FaultCall, from first: Int, times: Int, error: Int32, _ body: () throws -> Void
  ) rethrows -> Int {
    fault_arm(fault_plan(call: call.code, first: UInt64(first), times: UInt64(times), error: error))
    defer { fault_disarm() }
    try body()
    return Int(fault_failures())
  }

  /// Returns the number of calls of each kind that `body` makes.
  func counting(_ body: () throws -> Void) rethrows -> [FaultCall: Int] {
    fault_arm_nothing()
    defer { fault_disarm() }
    try body()
    return Dictionary(uniqueKeysWithValues: FaultCall.allCases.map { ($0, Int(fault_calls($0.code))) })
  }

  /// Records the changes that `body` makes to the files.
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
