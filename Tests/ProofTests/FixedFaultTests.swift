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

/// Regression tests for faults that failing calls once caused.
final class FixedFaultTests: XCTestCase {
  /// Opens a store with a film.
  private func makeAttempt() throws -> Attempt {
    let attempt = try Attempt(ProofSettings(), [:])
    try attempt.openStore()
    try attempt.open.addFilms(["one"], poster: 4_000)
    return attempt
  }

  /// Returns the codes of the errors that `body` throws when each call of a kind in turn fails.
  private func codes(
    _ attempt: Attempt, _ call: FaultCall, _ error: Int32, times: Int = 1, _ body: () throws -> Void
  ) throws -> Set<StoreError.Code> {
    var codes: Set<StoreError.Code> = []
    for number in 1...1_000 {
      var failures = 0
      do {
        failures = try attempt.folder.failing(call, from: number, times: times, error: error, body)
      } catch let error as StoreError {
        codes.insert(error.code)
        continue
      }
      if failures == 0 { break }
    }
    return codes
  }

  func testUnavailableLogLocksAreReportedAsBusy() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    XCTAssertEqual(try codes(attempt, .lock, EIO, times: .max) { _ = try attempt.contents() }, [.busy])
    XCTAssertEqual(try attempt.contents().count, 2)
    try attempt.closeStore()
  }

  func testOpeningRestartsAfterASignal() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    try attempt.closeStore()
    let file = try attempt.settings.unlock(attempt.url)
    let codes = try codes(attempt, .open, EINTR) {
      try waitFor {
        let slot = try await file.addKey(ProofSettings.key(2))
        try await file.removeKey(slot.id)
        try await file.rotateDataKey()
      }
    }
    XCTAssertEqual(codes, [])
    XCTAssertEqual(try attempt.contents().count, 2)
  }

  func testPartialReadsOfTheLogContinueToTheEnd() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    let log = attempt.url.path + "-wal"
    func frames() throws -> Int {
      var count = 0
      try WriteAheadLog.forEachFrame(log, pageSize: 4_096) { _, _ in
        count += 1
        return true
      }
      return count
    }
    let count = try frames()
    XCTAssertGreaterThan(count, 5)
    var counts: Set<Int> = []
    for number in 1...8 { _ = try attempt.folder.failing(.read, from: number, times: .max, error: 0) { counts.insert(try frames()) } }
    XCTAssertEqual(counts, [count])
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 16)
    defer { page.deallocate() }
    _ = try attempt.folder.failing(.read, from: 1, times: .max, error: 0) {
      XCTAssertTrue(try WriteAheadLog.read(log, into: page, offset: 56))
    }
    try attempt.closeStore()
  }

  func testTemporarilyUnopenableFilesAreNotMistakenForReadOnly() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    try attempt.closeStore()
    XCTAssertEqual(try codes(attempt, .open, EMFILE) { _ = try attempt.contents() }, [.io])
    XCTAssertEqual(try attempt.contents().count, 2)
  }

  func testReasonsOfFailedFolderRemovalsAreReported() throws {
    guard fault_injection_works() else { return }
    let folder = try WatchedFolder()
    let place = folder.url.path + "/folder"
    XCTAssertEqual(mkdir(place, 0o700), 0)
    for (error, kind) in [(ENOSPC, StoreAccessError.Kind.diskFull), (EACCES, .permissionDenied), (EIO, .io(EIO))] {
      _ = try folder.failing(.name, from: 1, times: 1, error: error) {
        XCTAssertThrowsError(try StoreFile.removeFolder(place)) { XCTAssertEqual(($0 as? StoreAccessError)?.kind, kind) }
      }
    }
    try StoreFile.removeFolder(place)
    XCTAssertFalse(StoreFile.exists(place))
  }

  func testStoreCreationSucceedsAfterAFailedAttempt() throws {
    guard fault_injection_works() else { return }
    for number in 1...40 {
      let attempt = try Attempt(ProofSettings(), [:])
      do {
        _ = try attempt.folder.failing(.open, from: number, times: .max, error: EIO) { try attempt.openStore() }
      } catch let error as StoreError {
        XCTAssertEqual(error.code, .io, "call \(number)")
        try attempt.openStore()
      }
      try attempt.closeStore()
    }
  }

  func testDiskErrorsWhenLeavingTheLogAreNotReportedAsBusy() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    try attempt.closeStore()
    let file = try attempt.settings.unlock(attempt.url)
    XCTAssertEqual(try codes(attempt, .sync, EIO) { try waitFor { try await file.rotateDataKey() } }, [.io])
    XCTAssertEqual(try codes(attempt, .name, EIO) { try waitFor { try await file.rotateDataKey() } }, [.io])
    XCTAssertEqual(try attempt.contents().count, 2)
  }

  func testExportErrorsKeepTheirKind() throws {
    guard fault_injection_works() else { return }
    let attempt = try makeAttempt()
    try attempt.closeStore()
    let file = try attempt.settings.unlock(attempt.url)
    let compact = { try waitFor { _ = try await file.compact() } }
    XCTAssertEqual(try codes(attempt, .read, EIO, compact), [.io])
    XCTAssertEqual(try codes(attempt, .write, ENOSPC, compact), [.diskFull])
    XCTAssertEqual(try attempt.contents().count, 2)
  }

  func testTemporarilyUnreadableHistoriesAreNotMistakenForMissing() throws {
    guard fault_injection_works() else { return }
    let attempt = try Attempt(ProofSettings(hasHistory: true), [:])
    try attempt.openStore()
    try attempt.open.addFilms(["one"])
    try attempt.closeStore()
    let codes = try codes(attempt, .read, EIO) {
      let damage = try attempt.settings.damage(attempt.url)
      XCTAssertEqual(damage, [])
    }
    XCTAssertEqual(codes, [.io])
  }

  func testLocksOfKilledRemovalsAreRemovedByTheNextRemoval() throws {
    let folder = try TemporaryFolder("FixedFaultTests")
    try Data().write(to: folder.file("store.keys.lock"))
    let description = ProofSettings().description(folder.file("store"))
    let coordinator = PersistentStoreCoordinator(compiledModel: try ProofModel.model(1))
    XCTAssertThrowsError(try waitFor { try await coordinator.destroyPersistentStore(with: description) }) { error in
      XCTAssertEqual((error as? StoreError)?.code, .storeNotFound)
    }
    XCTAssertEqual(folder.fileNames(), [])
  }
}
