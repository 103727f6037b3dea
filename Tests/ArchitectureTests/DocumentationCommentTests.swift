// What the documentation comments of public declarations say: what is thrown, and what each of three or more parameters is.
import XCTest

final class DocumentationCommentTests: XCTestCase {
  /// The tool's library is no product, and the macros' module has no users but the compiler.
  private static let leftOut = ["Sources/CipherDataToolKit/", "Sources/CipherDataTool/", "Sources/CipherDataMacros/"]

  private static let signatures: [(file: String, signature: PublicSignature)] = Repository.sources
    .filter { source in !leftOut.contains { source.file.hasPrefix($0) } }
    .flatMap { source in PublicSignature.of(source.text).map { (source.file, $0) } }

  func testWhatThrowsSaysWhat() {
    for (file, signature) in Self.signatures where signature.canThrow {
      XCTAssertTrue(
        signature.documentation.contains { $0.hasPrefix("- Throws: ") },
        "\(file):\(signature.line) does not say what it throws: \(signature.text)")
    }
  }

  func testThreeParametersOrMoreAreDocumentedEach() {
    for (file, signature) in Self.signatures where signature.parameterNames.count >= 3 {
      for name in signature.parameterNames where name != "_" {
        let plain = name.filter { $0 != "`" }
        let isSaid = signature.documentation.contains { $0.hasPrefix("- \(plain): ") || $0.hasPrefix("- Parameter \(plain): ") }
        // What the language fills in nobody passes.
        if ["isolation", "fileID", "line"].contains(plain) { continue }
        XCTAssertTrue(isSaid, "\(file):\(signature.line) does not say what \(plain) is: \(signature.text)")
      }
    }
  }

  func testSignaturesAreReadFromText() {
    let signatures = PublicSignature.of(
      SwiftText(
        """
        /// Said.
        ///
        /// - Throws: What is wrong.
        @discardableResult
        public func first<T: P>(_ a: [Int: T], b c: (Int) throws -> Void = { _ in },
          d: Int
        ) async throws -> Int { 1 }
        public protocol P {
          /// Made.
          init(x: Int) throws(E)
        }
        extension A {
          func hidden() throws {}
          public var v: Int { get throws { 1 } }
          public override func o() throws {}
          public func rethrowing(_ body: () throws -> Void) rethrows {}
        }
        """))
    XCTAssertEqual(signatures.map(\.line), [5, 10, 14, 16])
    XCTAssertEqual(signatures.map(\.canThrow), [true, true, true, false])
    XCTAssertEqual(signatures.first?.parameterNames, ["a", "c", "d"])
    XCTAssertEqual(signatures.first?.documentation.last, "- Throws: What is wrong.")
    XCTAssertEqual(signatures.dropFirst().first?.documentation, ["Made."])
  }
}
