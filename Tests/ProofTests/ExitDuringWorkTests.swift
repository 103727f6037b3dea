import Foundation
import XCTest
import _TestSupport

/// Programs that end without closing their stores.
final class ExitDuringWorkTests: XCTestCase {
  /// Without the target CLibcryptoAtExit, about every third of these programs ended with a segmentation fault.
  func testAProgramEndsNormallyWhileItsThreadsSave() throws {
    let program = try TestProgram.url(of: "_ExitDuringWork")
    for _ in 0..<12 {
      let folder = try TemporaryFolder()
      let run = try ProgramRun([program.path, folder.url.path], environment: ["SWIFT_BACKTRACE": "enable=no"])
      XCTAssertEqual(run.status, 0, run.output)
    }
  }
}
