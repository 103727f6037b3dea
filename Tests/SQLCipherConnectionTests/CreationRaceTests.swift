import Dispatch
import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Concurrent creations of a store at one path: one succeeds, and the key file is its own.
final class CreationRaceTests: StoreTestCase {
  /// Makes a store whose key file contains `name`.
  private static func make(_ path: String, _ name: String, _ meanwhile: @escaping @Sendable () -> Void) -> Result<Void, any Error> {
    Result {
      try StoreKeyring.createStore(path, keyFile: Array(name.utf8)) {
        meanwhile()
        guard FileManager.default.createFile(atPath: path + ".\(name)", contents: Data(name.utf8)), link(path + ".\(name)", path) == 0
        else {
          throw StoreAccessError.system(errno, path: path, operation: .create)
        }
      }
    }
  }

  /// The second creation's key file had replaced that of the first one, which was waiting for its store. That store could no longer be
  /// opened.
  func testConcurrentCreationsKeepMatchingKeyFiles() throws {
    let path = self.path
    let (second, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    @Sendable func makeSecond() {
      // The first creation continues in the middle of this one.
      _ = Self.make(path, "second") {
        second.signal()
        usleep(100_000)
      }
      isDone.signal()
    }
    let outcome = Self.make(path, "first") {
      Thread.detachNewThread { makeSecond() }
      // If the second creation may not start, it never signals.
      _ = second.wait(timeout: .now() + 0.3)
    }
    isDone.wait()
    XCTAssertNoThrow(try outcome.get())
    XCTAssertEqual(try String(contentsOfFile: path, encoding: .utf8), "first")
    XCTAssertEqual(try String(contentsOfFile: KeyFileStorage.path(for: path), encoding: .utf8), "first")
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".keys.") }, [])
  }
}
