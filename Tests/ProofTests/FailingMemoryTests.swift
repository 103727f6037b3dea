import Foundation
import SQLCipherConnection
import StoreKeys
import XCTest
import _FaultInjection
import _TestSupport

/// SQLite's allocations fail during operations on a store. The tests run in child processes, because the allocator must be installed before
/// SQLite is first used.
final class FailingMemoryTests: XCTestCase {
  private static let role = "CIPHERDATA_FAILING_MEMORY"
  /// The number of the first allocation to fail.
  private static let first = "CIPHERDATA_FAILING_MEMORY_FROM"

  /// Runs a part of ``testRunChildWithFailingMemory`` in a child process.
  ///
  /// - Parameter mayEnd: Whether the process may crash once; another one then continues after that allocation.
  private func play(_ part: String, atLeast count: Int, mayEnd: Bool = false) throws {
    guard fault_injection_works(), ProcessInfo.processInfo.environment[Self.role] == nil else { return }
    var (lines, status) = try run(part, from: 1)
    if mayEnd, status != 0, let last = lines.last.flatMap({ Int($0.dropFirst("AT ".count)) }) {
      let next = try run(part, from: last + 2)
      lines += next.lines
      status = next.status
    }
    XCTAssertEqual(status, 0, "it ended at: \(lines.last { $0.hasPrefix("AT ") } ?? "its beginning")")
    XCTAssertEqual(lines.filter { $0.hasPrefix("PROBLEM ") }, [])
    XCTAssertGreaterThanOrEqual(lines.count { $0.hasPrefix("AT ") }, count)
  }

  private func run(_ part: String, from first: Int) throws -> (lines: [String], status: Int32) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: try XCTUnwrap(CommandLine.arguments.first))
    process.arguments = ["ProofTests.FailingMemoryTests/testRunChildWithFailingMemory"]
    process.environment = ProcessInfo.processInfo.environment.merging([Self.role: part, Self.first: "\(first)"]) { $1 }
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lines = output.split(separator: "\n").map(String.init).filter { $0.hasPrefix("AT ") || $0.hasPrefix("PROBLEM ") }
    return (lines, process.terminationStatus)
  }

  func testProcessesContinueWithoutLossAfterFailedSQLiteAllocations() throws { try play("all", atLeast: 40) }

  /// A rollback allocates memory too. The connection's next user got "a transaction within a transaction".
  func testConnectionsAreClosedAfterAFailedRollback() throws { try play("transaction", atLeast: 12) }

  /// The page size was read as missing, and the library was taken for one without encryption.
  func testUnreadableSettingsAreNotMistakenForMissingEncryption() throws { try play("setting", atLeast: 5) }

  /// SQLCipher freed memory twice when it closed a handle whose key setup had run out of memory. Version 4 still does so for one
  /// allocation, because it cannot be kept from copying a key.
  func testFailedKeyAllocationsDoNotEndTheProcess() throws { try play("key", atLeast: 150, mayEnd: LibraryVersion.isSQLCipher4) }

  /// A snapshot that could not be ended blocked the next check, which was reported as an internal inconsistency.
  func testChecksReportFailedAllocations() throws { try play("check", atLeast: 20) }

  /// A failed BEGIN may have begun a transaction, which the next one ran into.
  func testTransactionsThatFailToBeginDoNotBlockTheNext() throws { try play("beginning", atLeast: 6) }

  func testMigrationsReportFailedAllocations() throws { try play("migration", atLeast: 8) }

  func testRunChildWithFailingMemory() throws {
    guard let part = ProcessInfo.processInfo.environment[Self.role] else { return }
    // Unbuffered, so that the last line is readable after a crash.
    func say(_ text: String) { FileHandle.standardOutput.write(Data((text.replacingOccurrences(of: "\n", with: " ") + "\n").utf8)) }
    XCTAssertTrue(fault_memory_install())
    switch part {
    case "setting": return try readSettings(say)
    case "check": return try check(say)
    case "beginning": return try begin(say)
    case "key": return try unlock(say)
    default: break
    }
    var random = SeededGenerator(seed: 6)
    func some(_ work: FailingWork, _ count: Int, lasting: Bool? = nil) throws -> [FailingMemory] {
      let cases = try FailingWorkBase(work).failingPieces.filter { $0.lasts == lasting ?? $0.lasts }
      return Array(cases.shuffled(using: &random).prefix(RandomSteps.count(count)))
    }
    let cases =
      switch part {
      case "transaction": try some(.save, 12, lasting: true)
      case "migration": try some(.migrate, 8, lasting: true)
      default: try FailingMemory.works.flatMap { try some($0, 4) }
      }
    for failing in cases {
      say("AT \(failing)")
      if let problem = failing.outcome { say("PROBLEM \(problem)") }
    }
  }

  /// Runs an operation once for each allocation that it makes, with that allocation failing. It must succeed or throw a suitable error.
  ///
  /// - Parameters:
  ///   - first: The number of the first allocation to fail.
  ///   - body: Prepares the operation, and returns it.
  private func withoutEachPiece(from first: Int = 1, _ say: (String) -> Void, _ body: () throws -> () throws -> Void) throws {
    for number in first... {
      let work = try body()
      fault_memory_arm(UInt64(number), 1)
      let result = Result { try work() }
      let asked = fault_memory_disarm()
      if asked < number { break }
      say("AT \(number)")
      switch result {
      case .success: break
      case .failure(let error as StoreAccessError) where error.kind == .outOfMemory: break
      case .failure(let error): say("PROBLEM \(number): \(error)")
      }
    }
  }

  private func makeDatabase(in folder: TemporaryFolder) throws -> (path: String, key: DatabaseKey) {
    let key = try DatabaseKey(key: SecretBytes([UInt8](repeating: 7, count: 32)), salt: [UInt8](repeating: 9, count: 16))
    let path = folder.file("proof.store").path
    let connection = try Connection.create(path: path, key: key)
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection.close()
    return (path, key)
  }

  private func check(_ say: @escaping (String) -> Void) throws {
    let folder = try TemporaryFolder("FailingMemoryTests")
    let (path, key) = try makeDatabase(in: folder)
    // Opening has a test of its own.
    fault_memory_arm(.max, 1)
    try Connection(opening: path, key: key).close()
    try withoutEachPiece(from: Int(fault_memory_disarm()) + 1, say) {
      {
        let findings = try StoreVerification.run(path: path, key: key, level: .full)
        if findings != [] { say("PROBLEM \(findings)") }
      }
    }
  }

  private func unlock(_ say: (String) -> Void) throws {
    let folder = try TemporaryFolder("FailingMemoryTests")
    let (path, key) = try makeDatabase(in: folder)
    let first = ProcessInfo.processInfo.environment[Self.first].flatMap { Int($0) } ?? 1
    try withoutEachPiece(from: first, say) {
      { try Connection(opening: path, key: key).close() }
    }
  }

  private func begin(_ say: (String) -> Void) throws {
    let folder = try TemporaryFolder("FailingMemoryTests")
    let (path, key) = try makeDatabase(in: folder)
    for writes in [false, true] {
      var connection: Connection?
      try withoutEachPiece(say) {
        // Check the state that the previous round left.
        if let connection, !connection.isInAutocommit, !connection.isDamaged { say("PROBLEM a transaction is open") }
        connection?.close()
        let opened = try writes ? Connection(opening: path, key: key) : Connection.reading(path, key: key)
        connection = opened
        return {
          try writes ? opened.beginWrite() : opened.beginRead()
          opened.abandonTransaction()
          if opened.isDamaged { throw StoreAccessError(.outOfMemory, path: path, operation: .step) }
        }
      }
      connection?.close()
    }
  }

  /// Reads a setting with each of its allocations failing.
  private func readSettings(_ say: (String) -> Void) throws {
    let folder = try TemporaryFolder("FailingMemoryTests")
    let key = try DatabaseKey(key: SecretBytes([UInt8](repeating: 7, count: 32)), salt: [UInt8](repeating: 9, count: 16))
    let connection = try Connection.create(path: folder.file("proof.store").path, key: key)
    for number in 1...40 {
      fault_memory_arm(UInt64(number), 1)
      let result = Result { try connection.pragma("page_size") }
      let asked = fault_memory_disarm()
      if asked < number { break }
      say("AT \(number)")
      switch result {
      case .success("4096"): break
      case .failure(let error as StoreAccessError) where error.kind == .outOfMemory: break
      default: say("PROBLEM \(number): \(result)")
      }
    }
    connection.close()
  }
}
