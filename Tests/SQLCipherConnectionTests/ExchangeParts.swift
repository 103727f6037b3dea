// The child processes that open, rotate and replace one store at the same time.

import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

extension ChildProcessTests {
  /// Counts successful calls of `body`, and reports every error except for those that ask to retry.
  private func attempt(_ done: inout Int, _ body: () async throws -> Void) async {
    do {
      try await body()
      done += 1
    } catch let error as StoreAccessError where error.kind == .busy {
      // Another process held the store longer than the timeout.
    } catch {
      print("ANSWER \(error)")
    }
  }

  /// Repeatedly opens the store by its passphrase, saves, checks that the save is in the store that others open now, and closes the store.
  func saveAmongOthers(_ path: String, count: Int, name: String) async throws {
    let random = Mutex(SystemRandomNumberGenerator())
    // Extend the time between open and lock.
    DatabaseLocation.whenLocking.withLock { $0 = { _ in usleep(random.withLock { $0.next() as UInt32 % 4_000 }) } }
    var saved = 0
    for number in 0..<count {
      usleep(random.withLock { $0.next() as UInt32 % 40_000 })
      await attempt(&saved) {
        let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
        let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
        defer { connection.close() }
        try connection.writeTransaction { try connection.execute("INSERT INTO t VALUES ('\(name) \(number)')") }
        let other = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
        defer { other.close() }
        let found = try other.readTransaction { try other.firstInteger("SELECT count(*) FROM t WHERE a = '\(name) \(number)'") }
        if found != 1 { print("ANSWER the save \(name) \(number) is lost") }
      }
    }
    print("ANSWER \(saved)")
  }

  func rotateAmongOthers(_ path: String, count: Int) async throws {
    var rotated = 0
    for _ in 0..<count {
      await attempt(&rotated) {
        let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
        let pool = try keyring.withDatabaseKey { try ConnectionPool(path: path, key: $0) }
        defer { pool.close() }
        try await keyring.rotateDataKey(pool: pool)
      }
      usleep(1_000)
    }
    print("ANSWER \(rotated)")
  }

  func replaceAmongOthers(_ path: String, by source: String, count: Int) async throws {
    let keyring = try await StoreKeyring.unlock(storePath: source, key: cheap("one"))
    var replaced = 0
    // Most of the time another process has the store open.
    for _ in 0..<1_000 where replaced < count {
      await attempt(&replaced) { try await StoreReplacement.replace(path) { try await keyring.backUp(to: $0) } }
      usleep(2_000)
    }
    print("ANSWER \(replaced)")
  }
}
