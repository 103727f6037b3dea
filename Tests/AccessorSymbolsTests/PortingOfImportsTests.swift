import AccessorSymbols
import Foundation
import XCTest

/// Imports of Apple's modules become conditional, some with a substitute on Linux.
final class PortingOfImportsTests: XCTestCase {
  private func check(_ source: String, becomes result: String, line: UInt = #line) {
    let port = SourcePort(source)
    XCTAssertEqual(port.result, result, line: line)
    XCTAssertFalse(SourcePort(port.result).isChanged, line: line)
  }

  func testLoggingHasASubstitute() {
    for module in ["os", "OSLog"] {
      check(
        "import \(module)\n",
        becomes: "#if canImport(\(module))\nimport \(module)\n#elseif canImport(UnifiedLogging)\nimport UnifiedLogging\n#endif\n")
    }
    check(
      "  @preconcurrency import os.log\n",
      becomes:
        "  #if canImport(os)\n  @preconcurrency import os.log\n  #elseif canImport(UnifiedLogging)\n  import UnifiedLogging\n  #endif\n")
    check(
      "import struct os.Logger\n",
      becomes: "#if canImport(os)\nimport struct os.Logger\n#elseif canImport(UnifiedLogging)\nimport UnifiedLogging\n#endif\n")
    check(
      "@_exported public import OSLog\n",
      becomes:
        "#if canImport(OSLog)\n@_exported public import OSLog\n#elseif canImport(UnifiedLogging)\n@_exported public import UnifiedLogging\n#endif\n"
    )
    XCTAssertTrue(SourcePort("import os\n").remarks[0].text.contains("the product UnifiedLogging of CipherData"))
  }

  func testCombineIsReplacedByTheModulesThatASourceUses() {
    func combine(_ parts: String..., then rest: String) -> String {
      let others = parts.map { "#if canImport(\($0))\nimport \($0)\n#endif\n" }.joined()
      return "#if canImport(Combine)\nimport Combine\n#elseif canImport(OpenCombine)\nimport OpenCombine\n\(others)#endif\n\(rest)"
    }
    check("import Combine\nlet a = [1].publisher\n", becomes: combine(then: "let a = [1].publisher\n"))
    for use in ["center.publisher(for: name)", "session.dataTaskPublisher(for: url)", "Timer.publish(every: 1, on: .main, in: .common)"] {
      check("import Combine\nlet a = \(use)\n", becomes: combine("OpenCombineFoundation", then: "let a = \(use)\n"))
    }
    check(
      "import Combine\nlet a = b.receive(on: DispatchQueue.main)\n",
      becomes: combine("OpenCombineDispatch", then: "let a = b.receive(on: DispatchQueue.main)\n"))
    check(
      "import Combine\nlet a = b.decode(decoder: JSONDecoder()).receive(on: DispatchQueue.main)\n",
      becomes: combine(
        "OpenCombineFoundation", "OpenCombineDispatch", then: "let a = b.decode(decoder: JSONDecoder()).receive(on: DispatchQueue.main)\n"))
    check(
      "import class Combine.AnyCancellable\n",
      becomes:
        "#if canImport(Combine)\nimport class Combine.AnyCancellable\n#elseif canImport(OpenCombine)\nimport OpenCombine\n#endif\n")
    XCTAssertTrue(SourcePort("import Combine\n").remarks[0].text.contains("the package OpenCombine has most of it"))
  }

  func testConditionalImportsAreUnchanged() {
    for source in ["#if canImport(Combine)\nimport Combine\n#endif\n", "#if os(iOS)\nimport os\n#endif\n", "import OpenCombine\n"] {
      XCTAssertFalse(SourcePort(source).isChanged, source)
      XCTAssertEqual(SourcePort(source).remarks, [], source)
    }
  }
}
