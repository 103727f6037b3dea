import Foundation
import ModelCodeGeneration
import ObjectModel
import XCTest

/// The exact source of typed classes.
final class ModelCodeGenerationTests: XCTestCase {
  private let library = ManagedObjectModel(version: "library-1") {
    Entity("Item", class: ".Item", abstract: true) {
      Attribute("title", .string).required().length(1...80)
      Attribute("added", .date).initially(Date(timeIntervalSinceReferenceDate: 0.5))
      Attribute("price", .decimal).required().initially(Decimal(-1))
      Index("byTitle", .descending("title")).where("price > 0")
      Index("folded", .ascending("title", collation: .caseAndDiacriticInsensitive))
      Unique("title")
    }
    .codeGeneration(.classDefinition)
    Entity("Book", class: "Library.Book", parent: "Item") {
      Attribute("keywords", transforming: [String].self).required()
      Relationship("authors", toMany: "Author", inverse: "books").ordered().onDelete(.deny).count(1...9)
      Relationship("shelf", to: "Shelf")
      Attribute("state", .integer16).initially(1).userInfo("swiftType", "State").userInfo("swiftUnknownCase", "lost").required()
      Attribute("titleKey", .string).derived("canonical:(title)")
      Attribute("bought", composite: "Purchase")
      Attribute("scan", .binary).externalStorage()
      Attribute("isbn", .string).userInfo("swiftValidation", "YES")
    }
    .codeGeneration(.classDefinition).renamed(from: "Volume").userInfo("colour", "\"red\"")
    Entity("Author", class: "Author") {
      Attribute("id", .uuid).required()
      Relationship("books", toMany: "Book", inverse: "authors")
    }
    .codeGeneration(.category)
    Entity("Shelf")
    Composite("Purchase") {
      Attribute("on", .date).initially(Date(timeIntervalSinceReferenceDate: 0))
      Attribute("price", composite: "Price").required()
      Attribute("by", .string).userInfo("swiftType", "Buyer")
    }
    Composite("Price") {
      Attribute("amount", .decimal).required()
      Attribute("currency", .string).required().initially("EUR")
    }
    FetchTemplate("cheap", entity: "Item", where: "price < $LIMIT")
  }

  private func source(_ model: ManagedObjectModel, _ options: CodeGenerationOptions = CodeGenerationOptions()) throws -> String {
    try ModelCodeGenerator(model: model, name: "Library", options: options).source()
  }

  func testGeneratedSourceMatchesTheGoldenFile() throws {
    let file = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent(
      "Golden/Library.txt")
    let source = try source(library, CodeGenerationOptions(access: .public, moduleName: "Library", imports: ["Dispatch"]))
    let known = try? String(contentsOf: file, encoding: .utf8)
    XCTAssertEqual(source, known, "if the change is meant, write the new source into Golden/Library.txt")
  }

  func testBundleSourcesContainEarlierVersionsUnderDistinctNames() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).xcdatamodeld")
    defer { try? FileManager.default.removeItem(at: url) }
    func model(_ attribute: String) -> ManagedObjectModel {
      ManagedObjectModel {
        // Its class has the name of the enumeration of versions.
        Entity("Versions", class: "Versions") { Attribute(attribute, .string) }.codeGeneration(.classDefinition)
      }
    }
    let names = ["My Shop", "My-Shop 2", "all", "MyShop"]
    try VersionedModel(
      name: "Shop", versions: names.map { VersionedModel.Version(name: $0, model: model($0 == "all" ? "a\"b" : "plain")) },
      currentVersionName: "MyShop"
    ).write(to: url)
    let source = try ModelCodeGenerator(contentsOf: url, name: "Shop").source()
    XCTAssertTrue(source.contains("enum ModelVersions {"))
    for line in [
      "static let all_2: ManagedObjectModelReference = ManagedObjectModelReference(text: \"<?xml",
      "static let myShop: ManagedObjectModelReference = ManagedObjectModelReference(text: \"<?xml",
      "static let myShop_2: ManagedObjectModelReference = ManagedObjectModelReference(managedObjectModel)",
      "static let myShop2: ManagedObjectModelReference = ManagedObjectModelReference(text: \"<?xml", "customMigrationStages:",
    ] {
      XCTAssertTrue(source.contains(line), line)
    }
    // An unreadable version stops the build with an error that names it.
    try Data("<model".utf8).write(to: url.appendingPathComponent("all.xcdatamodel/contents"))
    XCTAssertThrowsError(try ModelCodeGenerator(contentsOf: url)) {
      XCTAssertTrue(($0 as? ModelFileError)?.path?.contains("all.xcdatamodel") ?? false, "\($0)")
    }
  }

  func testTheFilterOfADerivedAttributeIsInTheSource() throws {
    let source = try source(
      ManagedObjectModel {
        Entity("Shelf") {
          Attribute("open", .integer64).derived("books.@count", where: "state == \"lent\"")
          Relationship("books", toMany: "Book")
        }
        Entity("Book") { Attribute("state", .string) }
      })
    XCTAssertTrue(
      source.contains("$0.derivationExpression = \"books.@count\"\n        $0.derivationFilter = \"state == \\\"lent\\\"\""), source)
  }

  func testTheMergeRuleOfAnAttributeIsInTheSource() throws {
    let source = try source(ManagedObjectModel { Entity("Post") { Attribute("votes", .integer64).syncMergeRule(.counter) } })
    XCTAssertTrue(source.contains("$0.userInfo = [\"syncMergeRule\": \"counter\"]"), source)
  }

  func testSnapshotsWithNameClashesAreRenamed() throws {
    func source(_ userInfo: String? = nil, _ attribute: Attribute = Attribute("title", .string), other: String = "Shelf") throws -> String {
      let book = Entity("Book", class: "Book") { attribute }.codeGeneration(.classDefinition)
      return try self.source(
        ManagedObjectModel {
          userInfo.map { book.userInfo("swiftSnapshot", $0) } ?? book
          Entity(other, class: other) { Attribute("name", .string) }.codeGeneration(.classDefinition)
        })
    }
    XCTAssertTrue(try source().contains("struct Snapshot: TypedSnapshot"))
    XCTAssertTrue(try source().contains("func snapshot(including"))
    // A class of the model, an attribute type, a property.
    XCTAssertTrue(try source(other: "Snapshot").contains("struct SnapshotValue: TypedSnapshot"))
    XCTAssertTrue(
      try source(nil, Attribute("x", .string).userInfo("swiftType", "Camera.Snapshot")).contains("struct SnapshotValue: TypedSnapshot"))
    XCTAssertTrue(try source(nil, Attribute("snapshot", .string)).contains("func snapshotValue(including"))
    XCTAssertTrue(try source(nil, Attribute("storage", .string)).contains("var storageValue: String?"))
    let identified = try source(nil, Attribute("id", .transformable).transformed(by: "Odd"))
    XCTAssertTrue(identified.contains("var idValue: (any Sendable)?"), "what has no hash value identifies nothing")
    XCTAssertTrue(try source("Values").contains("struct Values: TypedSnapshot"))
    XCTAssertFalse(try source("NO").contains("nonisolated extension Book {"))
    for name in ["a b", "class", "Shelf", ""] {
      XCTAssertThrowsError(try source(name)) { error in
        XCTAssertEqual(error as? CodeGenerationError, .badSnapshotName(entity: "Book", name: name))
      }
    }
  }

  func testTheSourceIsTheSameEachTime() throws {
    let first = try source(library)
    for _ in 0..<5 { XCTAssertEqual(try source(library), first) }
    var shuffled = library
    shuffled.entities.reverse()
    // Slot numbers and classes do not depend on the order of the entities.
    let classes = { (text: String) in text.components(separatedBy: "/// An object of").dropFirst().sorted() }
    XCTAssertEqual(classes(try source(shuffled)).count, classes(first).count)
  }

  func testFilePerClassOutputHasTheSameClasses() throws {
    let generator = try ModelCodeGenerator(model: library, name: "Library", options: CodeGenerationOptions(moduleName: "Library"))
    let files = try generator.files()
    XCTAssertEqual(
      files.map(\.name), ["LibraryModel.swift", "Purchase.swift", "Price.swift", "Author+Properties.swift", "Item.swift", "Book.swift"])
    let whole = try generator.source()
    for file in files {
      let body = file.contents.components(separatedBy: "\n\n").dropFirst(2).joined(separator: "\n\n")
      XCTAssertTrue(whole.contains(body), file.name)
    }
    // An import is public only if a signature of the file requires it.
    XCTAssertTrue(files[0].contents.contains("\nimport Foundation\n"))
    XCTAssertTrue(files[4].contents.contains("\npublic import Foundation\n"))
  }

  func testAccessLevelIsApplied() throws {
    let sources = try CodeGenerationOptions.Access.allCases.map { access in
      try source(library, CodeGenerationOptions(access: access, moduleName: "Library"))
    }
    XCTAssertTrue(
      sources[0].contains("open nonisolated class Item: ManagedObject {\n  /// The attribute `title`.\n  public final var title"))
    XCTAssertTrue(sources[1].contains("public nonisolated class Item: ManagedObject {"))
    XCTAssertTrue(
      sources[2].contains("package nonisolated class Item: ManagedObject {\n  /// The attribute `title`.\n  package final var title"))
    XCTAssertTrue(sources[3].contains("\nnonisolated class Item: ManagedObject {\n  /// The attribute `title`.\n  final var title"))
    XCTAssertTrue(sources[3].contains("\n@_spi(Generated) import CipherData\nimport Foundation\n"))
  }

  func testModelTextsAreEscapedInGeneratedCode() throws {
    var model = ManagedObjectModel {
      Entity("E", class: ".E") {
        Attribute("a\"); evil(); (\"", .string).initially("\\(evil())\u{202E}\u{0}").userInfo("\"\\", "*/ evil()")
        Attribute("b`c", .string)
      }
      .codeGeneration(.classDefinition)
    }
    let source = try source(model)
    XCTAssertFalse(source.contains("\u{202E}") || source.contains("\u{0}"))
    XCTAssertTrue(source.contains("\\u{202E}\\u{0}"))
    XCTAssertTrue(source.contains("\\\\(evil())"))
    XCTAssertTrue(source.contains("var a____evil______: String?"))
    XCTAssertTrue(source.contains("var b_c: String?"))
    for name in [
      "E { }; func evil() {", "class", "E.F G", "ManagedObject\n", "1E", "Self", "default", "CipherData", "Swift",
      "Foundation", "FetchedClass", "Reach", "",
    ] where !name.isEmpty {
      model.entities[0].managedObjectClassName = name
      XCTAssertThrowsError(try ModelCodeGenerator(model: model, name: "M"), name) {
        guard case .badClassName(entity: "E", className: _)? = $0 as? CodeGenerationError else { return XCTFail("\($0)") }
      }
    }
    for type in ["Int { evil() }", "Int; evil()", "[Int", "Int]", "\"", "Int\nevil()", "a>b<", "()"] {
      let model = ManagedObjectModel(entities: [entity(valueClass: type)])
      let generator = try ModelCodeGenerator(model: model, name: "M")
      XCTAssertThrowsError(try generator.source(), type) {
        XCTAssertEqual($0 as? CodeGenerationError, .badValueType(entity: "E", attribute: "t"))
      }
    }
    XCTAssertThrowsError(try ModelCodeGenerator(model: model, name: "M", options: CodeGenerationOptions(imports: ["A; evil()"])))
  }

  private func entity(valueClass: String, optional: Bool = true) -> EntityDescription {
    var attribute = AttributeDescription(name: "t", type: .transformable, isOptional: optional)
    attribute.valueClassName = valueClass
    var entity = EntityDescription(name: "E", properties: [.attribute(attribute)])
    entity.codeGeneration = .classDefinition
    return entity
  }

  func testTransformableAttributesHaveTheirTypes() throws {
    let cases: [(String, Bool, String)] = [
      ("[String: Int]", true, "var t: [String: Int]? {"), ("[String: Int]", false, "var t: [String: Int] {"),
      ("[[String: Int]]", false, "?? []"), ("[String]", false, "?? []"), ("[A<B>: C]", false, "?? [:]"), ("Set<Int>", false, "?? []"),
      ("Money", false, "var t: Money? {"), ("any P & Q", true, "var t: (any P & Q)? {"), ("NSArray", true, "var t: Data? {"),
      ("", true, "var t: Data? {"), (" Money ", true, "var t: Money? {"),
    ]
    for (type, isOptional, expected) in cases {
      let source = try source(ManagedObjectModel(entities: [entity(valueClass: type, optional: isOptional)]))
      XCTAssertTrue(source.contains(expected), "\(type): \(source)")
    }
  }

  func testRawValuesAndRulesMustBeValidSwift() throws {
    func error(_ change: (inout AttributeDescription) -> Void) throws -> CodeGenerationError? {
      var attribute = AttributeDescription(name: "t", type: .integer16)
      change(&attribute)
      var entity = EntityDescription(name: "E", properties: [.attribute(attribute)])
      entity.codeGeneration = .classDefinition
      do { _ = try source(ManagedObjectModel(entities: [entity])) } catch let error as CodeGenerationError { return error }
      return nil
    }
    XCTAssertNil(try error { $0.valueClassName = "Outer.State" })
    XCTAssertEqual(try error { $0.valueClassName = "State; evil()" }, .badValueType(entity: "E", attribute: "t"))
    XCTAssertEqual(try error { $0.userInfo["swiftType"] = "[State" }, .badValueType(entity: "E", attribute: "t"))
    XCTAssertEqual(
      try error { $0.userInfo = ["swiftType": "State", "swiftUnknownCase": "a; evil()"] }, .badUnknownCase(entity: "E", attribute: "t"))
    XCTAssertEqual(try error { $0.userInfo["swiftValidation"] = "perhaps" }, .badRule(entity: "E", attribute: "t"))
    XCTAssertNil(try error { $0.userInfo["swiftValidation"] = "NO" })
    XCTAssertNil(try error { ($0.userInfo["swiftValidation"], $0.valueClassName) = ("YES", "State") })
    for error in [CodeGenerationError.badRule(entity: "E", attribute: "t"), .badUnknownCase(entity: "E", attribute: "t")] {
      XCTAssertTrue("\(error)".hasPrefix("E.t: "))
    }
  }

  func testStructsDoNotShadowTypesUsedBySources() throws {
    let source = try source(
      ManagedObjectModel {
        Entity("Address").codeGeneration(.classDefinition)
        Entity("E") { Attribute("a", composite: "Address") }.codeGeneration(.classDefinition)
        Composite("Address") { Attribute("a", composite: "data") }
        Composite("data") { Attribute("a", composite: "2 of") }
        Composite("2 of") { Attribute("a", .binary) }
      })
    XCTAssertTrue(source.contains("public nonisolated struct AddressValue: SnapshotComposite, Hashable {"))
    XCTAssertTrue(
      source.contains(
        "public final var a: AddressValue? {\n    get { GeneratedCode.optionalComposite(at: 0, of: self) }\n"
          + "    set { GeneratedCode.setComposite(newValue, at: 0, of: self) }"))
    XCTAssertTrue(source.contains("public var a: DataValue?"))
    XCTAssertTrue(source.contains("public nonisolated struct _2_of: SnapshotComposite, Hashable {"))
    XCTAssertTrue(source.contains("public static var partNames: [String] { [\"a.a.a\"] }"))
    XCTAssertTrue(source.contains("public static var partNames: [String] { [\"a.a\"] }"))
  }

  func testModelFileImportsModulesForElementDefaults() throws {
    let model = ManagedObjectModel {
      Entity("E") { Attribute("a", composite: "C") }.codeGeneration(.classDefinition)
      Composite("C") { Attribute("part", .decimal).initially(Decimal(1)) }
    }
    let files = try ModelCodeGenerator(model: model, name: "M").files()
    let source = try XCTUnwrap(files.first { $0.contents.contains("func makeModel") }?.contents)
    XCTAssertTrue(source.contains("Data("), source)
    XCTAssertTrue(source.contains("import Foundation"), source)
  }

  func testAccessorsAreInlinableOnlyForOtherModules() throws {
    let model = ManagedObjectModel {
      Entity("E") {
        Attribute("number", .integer64).required()
        Attribute("object", .transformable).userInfo("swiftType", "[String]")
        Attribute("sum", .integer64).derived("number")
        Relationship("next", to: "E")
      }.codeGeneration(.classDefinition)
    }
    for access in CodeGenerationOptions.Access.allCases {
      let source = try source(model, CodeGenerationOptions(access: access))
      var lines: [String] = []
      for line in source.split(separator: "\n") where line.contains("@inlinable") { lines.append(String(line.drop { $0 == " " })) }
      if access == .internal {
        XCTAssertEqual(lines, [])
        continue
      }
      let modifier = access == .package ? "package" : "public"
      XCTAssertEqual(
        lines,
        [
          "@inlinable get { GeneratedCode.value(at: 0, of: self) }",
          "@inlinable set { GeneratedCode.setValue(newValue, at: 0, of: self) }",
          "@inlinable \(modifier) final var sum: Int64? { GeneratedCode.optionalValue(at: 2, of: self) }",
          "@inlinable get { GeneratedCode.toOne(at: 3, of: self) }",
          "@inlinable set { GeneratedCode.setToOne(newValue, at: 3, of: self) }",
        ], access.rawValue)
    }
  }

  func testClassesInheritAcrossEntitiesWithoutAClass() throws {
    let source = try source(
      ManagedObjectModel {
        Entity("Root", class: ".Root") { Attribute("a", .string) }.codeGeneration(.classDefinition)
        Entity("Middle", parent: "Root") { Attribute("b", .string) }
        Entity("Leaf", class: ".Leaf", parent: "Middle") { Attribute("c", .string) }.codeGeneration(.classDefinition)
        Entity("Own", class: ".Own", parent: "Leaf")
      })
    XCTAssertTrue(source.contains("public nonisolated class Leaf: Root {"))
    XCTAssertTrue(source.contains("public final var b: String? {\n    @inlinable get { GeneratedCode.optionalValue(at: 1, of: self) }"))
    XCTAssertTrue(source.contains("public final var c: String? {\n    @inlinable get { GeneratedCode.optionalValue(at: 2, of: self) }"))
    XCTAssertFalse(source.contains("class Own"))
    XCTAssertTrue(source.contains("\"Own\": Own.self"))
  }

  func testTwoEntitiesCannotShareAGeneratedClass() {
    let model = ManagedObjectModel {
      Entity("A", class: "Same").codeGeneration(.classDefinition)
      Entity("B", class: ".Same").codeGeneration(.classDefinition)
    }
    XCTAssertThrowsError(try ModelCodeGenerator(model: model, name: "M")) {
      XCTAssertEqual($0 as? CodeGenerationError, .sharedClass(className: "Same", entities: ["A", "B"]))
    }
  }

  func testErrorsOfTheModelAreReported() {
    let model = ManagedObjectModel { Entity("E", parent: "Gone") }
    XCTAssertThrowsError(try ModelCodeGenerator(model: model, name: "M")) { XCTAssertTrue($0 is ModelValidationError) }
  }

  func testAnEntityNamedLikeTheModelDoesNotClash() throws {
    let model = ManagedObjectModel { Entity("LibraryModel").codeGeneration(.classDefinition) }
    XCTAssertTrue(try source(model).contains("public nonisolated enum LibraryModelDescription {"))
  }
}
