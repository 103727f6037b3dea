import Foundation
import ObjectStore
import SQLCipherStore
import StoreFiles
import StoreKeys
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification
import _TestSupport

/// The store's error reports the system call's error, whichever call fails; a failed creation leaves no files.
final class SystemErrorTests: XCTestCase {
  /// The errors that a call may fail with, and the codes that report them.
  private static let errors: [Int32: Set<StoreError.Code>] = [
    EACCES: [.permissionDenied], EPERM: [.permissionDenied], EROFS: [.readOnly], ENOSPC: [.diskFull], EDQUOT: [.diskFull], EMFILE: [.io],
    ENFILE: [.io], ENAMETOOLONG: [.io], ELOOP: [.io, .notAStore], EIO: [.io],
  ]
  private static let errorsByCall: [FaultCall: [Int32]] = [
    .open: [EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOSPC, EDQUOT, ENAMETOOLONG, ELOOP, EIO],
    .name: [EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EIO], .sync: [EIO, ENOSPC, EDQUOT], .write: [EIO, ENOSPC, EDQUOT], .size: [EIO],
    .read: [EIO],
  ]

  /// Returns what is wrong with the thrown error; nil if it reports the system error.
  private func problem(of thrown: any Error, _ number: Int32, _ call: FaultCall) -> String? {
    guard var error = thrown as? StoreError else { return "an error of another type: \(type(of: thrown)) \(thrown)" }
    if error.code == .migrationFailed, let cause = error.underlying as? StoreError { error = cause }
    var codes = Self.errors[number] ?? [.io]
    // If SQLite may not open a file for writing, it opens it for reading.
    if call == .open, [EACCES, EPERM].contains(number) { codes.formUnion([.readOnly]) }
    // If SQLite itself opened files and did not keep the reason of a failure, any code is accepted.
    if call == .open, error.sqliteCode != nil, error.systemErrorNumber == nil { codes.insert(.io) }
    guard codes.contains(error.code) else { return "\(error.code): \(error)" }
    if error.sqliteCode != nil {
      if let reported = error.systemErrorNumber, reported != number { return "the number \(reported): \(error)" }
    } else {
      guard error.systemErrorNumber == number else { return "the number \(error.systemErrorNumber ?? 0): \(error)" }
      guard error.description.contains(String(cString: strerror(number))) else { return "without the system's words: \(error)" }
    }
    return nil
  }

  func testFailingCallsAreReportedWithTheirError() throws {
    guard fault_injection_works() else { return }
    var random = SeededGenerator(seed: 8)
    for work in FailingWork.all where ![FailingWork.fetch.name, FailingWork.delete.name, FailingWork.update.name].contains(work.name) {
      let base = try FailingWorkBase(work)
      for (call, errors) in Self.errorsByCall.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        let numbers = Array(1...max(1, base.calls[call] ?? 0)).shuffled(using: &random).prefix(RandomSteps.count(call == .open ? 8 : 3))
        for (position, number) in numbers.enumerated() {
          let error = errors[(position + number) % errors.count]
          let attempt = try Attempt(work.settings, base.files)
          try work.prepare(attempt)
          var thrown: (any Error)?
          _ = attempt.folder.failing(call, from: number, times: 1, error: error) {
            do { try work.body(attempt) } catch { thrown = error }
          }
          if let thrown, let problem = problem(of: thrown, error, call) {
            XCTFail("\(work.name), \(call.rawValue) \(number), \(String(cString: strerror(error))): \(problem)")
          }
          try? attempt.closeStore()
        }
      }
    }
  }

  func testKeyFileErrorsAreReportedWithTheirCause() throws {
    guard fault_injection_works() else { return }
    let attempt = try Attempt(ProofSettings(), [:])
    try attempt.openStore()
    try attempt.closeStore()
    let file = try attempt.settings.unlock(attempt.url)
    let copy = attempt.folder.url.appendingPathComponent("copy.keys")
    let works: [(String, () throws -> Void)] = [
      (
        "change a key",
        { try waitFor { _ = try await file.changeKey(from: ProofSettings.key(1), to: ProofSettings.key(1)) } }
      ), ("back up the key file", { try file.backUpKeyFile(to: copy) }),
    ]
    for (name, body) in works {
      for (call, errors) in Self.errorsByCall {
        for error in errors {
          for number in 1...100 {
            var thrown: (any Error)?
            let failures = attempt.folder.failing(call, from: number, times: 1, error: error) {
              do { try body() } catch { thrown = error }
            }
            if let thrown {
              if let problem = problem(of: thrown, error, call) {
                XCTFail("\(name), \(call.rawValue) \(number), \(String(cString: strerror(error))): \(problem)")
              }
              XCTAssertFalse(FileManager.default.fileExists(atPath: copy.path), "\(name), \(call.rawValue) \(number)")
            }
            unlink(copy.path)
            if failures == 0 { break }
          }
        }
      }
    }
    XCTAssertEqual(try attempt.contents(), [])
  }

  func testFailedCreationsLeaveNothing() throws {
    guard fault_injection_works() else { return }
    var random = SeededGenerator(seed: 7)
    for hasHistory in [false, true] {
      var work = FailingWork.make
      work.settings = ProofSettings(hasHistory: hasHistory)
      let base = try FailingWorkBase(work)
      for fault in CallFault.all where fault.error != 0 && fault.error != EINTR {
        // A lock that is never granted costs the whole timeout.
        if fault.call == .lock, fault.lasts { continue }
        let count = base.calls[fault.call] ?? 0
        if count == 0 { continue }
        // The last calls follow the rename of the store to its final name.
        let last = max(1, count - 2)...count
        for number in Array(1...count).shuffled(using: &random).prefix(RandomSteps.count(4)) + last {
          let attempt = try Attempt(work.settings, [:])
          var thrown: (any Error)?
          _ = attempt.folder.failing(fault.call, from: number, times: fault.lasts ? .max : 1, error: fault.error) {
            do { try attempt.openStore() } catch { thrown = error }
          }
          guard thrown != nil else {
            try attempt.closeStore()
            continue
          }
          let left = try FileManager.default.contentsOfDirectory(atPath: attempt.folder.url.path)
          // If names can no longer be removed, or bytes no longer be read to identify the store, a whole store may remain.
          if !(fault.lasts && [.name, .read].contains(fault.call)) {
            XCTAssertEqual(left, [], "\(fault), call \(number) of \(count)")
          }
          for name in left where name.hasPrefix(".") {
            try FileManager.default.removeItem(at: attempt.folder.url.appendingPathComponent(name))
          }
          XCTAssertEqual(try attempt.contents().filter { !$0.hasPrefix("history") }, [], "\(fault), call \(number)")
        }
      }
    }
  }
}
