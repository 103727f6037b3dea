import XCTest

/// Documentation comments of public declarations describe what they throw, and each of three or more parameters. Those of all declarations
/// describe only parameters that exist.
final class DocumentationCommentTests: XCTestCase {
  /// Modules without users: the tool's library is not a product, and only the compiler uses the macros' module.
  private static let omitted = ["Sources/CipherDataToolKit/", "Sources/CipherDataTool/", "Sources/CipherDataMacros/"]

  private static let signatures: [(file: String, signature: PublicSignature)] = Repository.sources
    .filter { source in !omitted.contains { source.file.hasPrefix($0) } }
    .flatMap { source in PublicSignature.of(source.text).map { (source.file, $0) } }

  /// The types that users encounter first. The comment of each has an example, which `DocumentationTests` compiles.
  private static let metFirst = [
    "AsynchronousFetch", "Attribute", "AttributeDescription", "AttributeTransformer", "AttributeValidation", "BatchDeleteRequest",
    "BatchError", "BatchInsertRequest", "BatchResult", "BatchUpdateRequest", "BatchedResults", "ChangeSet", "ComparisonOptions",
    "Composite", "ConstraintConflict", "ContextActor", "ContextChange", "CustomMigration", "CustomMigrationStage", "DeleteRule",
    "Entity", "EntityDescription", "EntityMapping", "EntityMigrationPolicy", "ExternalData", "ExternalDataWriter", "FetchCondition",
    "FetchExplanation", "FetchExpression", "FetchIndexDescription", "FetchMembers", "FetchPredicate", "FetchProperty", "FetchRequest",
    "FetchRequestTemplate", "FetchSelection", "FetchSortDescriptor", "FetchedValues", "KeySlot", "KeyValueError",
    "LightweightMigrationStage", "ManagedObject", "ManagedObjectClasses", "ManagedObjectContext", "ManagedObjectID",
    "ManagedObjectModel", "MappingModel", "MergeConflict", "MergeDecision", "MergePolicy", "MergeResolver", "MigrationPlan",
    "MigrationProgress", "ModelChange", "ModelIssue", "ModelValidationError", "MutableMembers", "PersistentContainer",
    "PersistentStoreCoordinator", "PersistentStoreDescription", "PropertyMapping", "Relationship", "RelationshipDescription",
    "RequestCancellation", "SQLCipherStoreFile", "SecretBytes", "StagedMigrationManager", "StoreDurability", "StoreError",
    "StoreFileInformation", "StoreFinding", "StoreKey", "StoreKeyProvider", "StoreMetadata", "StoreSettingKey", "StoreType",
    "StoreVerificationLevel", "TextQuery", "ValidationError", "VersionedModel",
  ]

  func testMainTypesHaveAnExample() {
    var documented: Set<String> = []
    for (_, text) in Repository.sources {
      for (index, line) in text.code.enumerated() where line.first != " " && (line.contains("public ") || line.contains("open ")) {
        let words = line.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }).map(String.init)
        guard let kind = words.firstIndex(where: ["struct", "class", "enum", "protocol", "actor"].contains), kind + 1 < words.count else {
          continue
        }
        var first = index
        while first > 0, text.lines[first - 1].hasPrefix("///") || text.lines[first - 1].hasPrefix("@") { first -= 1 }
        if text.lines[first..<index].contains("/// ```swift") { documented.insert(words[kind + 1]) }
      }
    }
    XCTAssertGreaterThanOrEqual(Self.metFirst.count, 60)
    for name in Self.metFirst { XCTAssertTrue(documented.contains(name), "\(name) does not show what one does with it") }
  }

  func testThrowingFunctionsDocumentTheirErrors() {
    for (file, signature) in Self.signatures where signature.canThrow {
      XCTAssertTrue(
        signature.documentation.contains { $0.hasPrefix("- Throws: ") },
        "\(file):\(signature.line) does not say what it throws: \(signature.text)")
    }
  }

  func testFunctionsWithThreeOrMoreParametersDocumentEach() {
    for (file, signature) in Self.signatures where signature.parameterNames.count >= 3 {
      for name in signature.parameterNames where name != "_" {
        let plain = name.filter { $0 != "`" }
        let isSaid = signature.documentation.contains { $0.hasPrefix("- \(plain): ") || $0.hasPrefix("- Parameter \(plain): ") }
        // Callers omit parameters whose defaults the language supplies.
        if ["isolation", "fileID", "line"].contains(plain) { continue }
        XCTAssertTrue(isSaid, "\(file):\(signature.line) does not say what \(plain) is: \(signature.text)")
      }
    }
  }

  func testDocumentedParametersExist() {
    var count = 0
    for (file, text) in Repository.sources {
      for documentation in ParameterDocumentation.of(text) {
        count += documentation.documented.count
        for name in documentation.unknown {
          XCTFail("\(file):\(documentation.line) documents the parameter \(name), and has only \(documentation.declared.sorted())")
        }
      }
    }
    XCTAssertGreaterThan(count, 1_000)
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

  func testDocumentedParametersAreReadFromText() {
    let documentation = ParameterDocumentation.of(
      SwiftText(
        """
        /// No parameters.
        var v: Int { 1 }
        /// - Parameter former: Renamed.
        private func first(_ a: Int = 1 << 2, b c: Int) {}
        enum E {
          /// Said.
          ///
          /// - Parameters:
          ///   - b: By its label.
          ///   - c: By its name,
          ///     - not this: on two lines
          ///   - gone: Removed.
          /// - Returns: Something.
          @available(*, deprecated, message: "func wrong(")
          // Why.
          @discardableResult static func second<T>(
            _ a: [Int: T], b c: (Int) -> Void
          ) -> Int { 1 }
          /// - Parameters:
          ///   - x: Its value.
          ///   - y: Renamed.
          case third(x: Int, z: Int)
        }
        """))
    XCTAssertEqual(documentation.map(\.line), [4, 16, 22])
    XCTAssertEqual(documentation.map(\.documented), [["former"], ["b", "c", "gone"], ["x", "y"]])
    XCTAssertEqual(documentation.map(\.unknown), [["former"], ["gone"], ["y"]])
  }
}
