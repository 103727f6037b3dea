#if compiler(>=6.2)
  import Foundation
  import XCTest

  /// Classes and structs with macros compile with any default isolation and language mode of their target.
  final class DefaultIsolationTests: XCTestCase {
    func testAModelCompilesUnderEachDefault() throws {
      let compiler = try MacroCompiler(for: Self.self)
      let source = try String(contentsOf: MacroCompiler.fixtures.appendingPathComponent("AnyDefault.swift.txt"), encoding: .utf8)
      for mode in [["-swift-version", "6"], ["-swift-version", "5"], ["-swift-version", "5", "-strict-concurrency=complete"]] {
        for isolation in ["nonisolated", "MainActor"] {
          let flags = ["-emit-sil", "-o", "/dev/null", "-default-isolation", isolation] + mode
          XCTAssertEqual(try compiler.check(source, named: "AnyDefault", flags: flags), "", "\(isolation) \(mode)")
        }
      }
    }
  }
#endif
