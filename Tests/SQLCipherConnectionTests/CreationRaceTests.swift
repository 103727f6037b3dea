// CreationRaceTests: several make a store at the same place at the same time: one does, and the key file is its own.

import Dispatch
import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

final class CreationRaceTests: StoreTestCase {
  /// Makes a store whose key file says `name`.
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

  /// The second one's key file had taken the place of the first one's, which waited for its store: nobody could open that any more.
  func testAStoreGetsTheKeyFileThatWasMadeForIt() throws {
    let path = self.path
    let (second, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    @Sendable func makeSecond() {
      // In the middle of its work the first one goes on.
      _ = Self.make(path, "second") {
        second.signal()
        usleep(100_000)
      }
      isDone.signal()
    }
    let outcome = Self.make(path, "first") {
      Thread.detachNewThread { makeSecond() }
      // Where it may not begin it never comes so far.
      _ = second.wait(timeout: .now() + 0.3)
    }
    isDone.wait()
    XCTAssertNoThrow(try outcome.get())
    XCTAssertEqual(try String(contentsOfFile: path, encoding: .utf8), "first")
    XCTAssertEqual(try String(contentsOfFile: KeyFileStorage.path(for: path), encoding: .utf8), "first")
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".keys.") }, [])
  }
}
