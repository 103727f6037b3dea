import Foundation
import XCTest

/// The Swift code in the README, the articles and doc comments compiles. All code blocks of one text form one program, together with the
/// classes generated for the model of `Examples/Sources/Quickstart`.
final class DocumentationTests: XCTestCase {
  func testTheCodeOfTheReadmeCompiles() throws { try check("README.md") }

  func testTheCodeOfTheMigrationDocumentCompiles() throws { try check("Documentation/Migration.md") }

  func testTheCodeOfTheDocumentAboutOptionsCompiles() throws { try check("Documentation/StoreOptions.md") }

  func testCodeOfOtherDocumentsCompilesWithItsContext() throws {
    let context = "@MainActor var context: ManagedObjectContext { get throws { throw CancellationError() } }"
    try check("Documentation/Errors.md", with: [context, "func show(_ text: String) {}", "func log(_ text: String) {}"])
    try check("Documentation/Predicates.md", with: [context, "struct Section: Decodable { let section: String?, n: Int, size: Int }"])
    try check(
      "Documentation/ComingFromCoreData.md",
      with: [
        "let oldURL = URL(fileURLWithPath: \"old\"), newURL = URL(fileURLWithPath: \"new\")",
        "let oldModel = ManagedObjectModel(entities: []), key = StoreKey.passphrase(\"words\")",
      ])
  }

  func testTheCodeOfTheArticlesCompiles() throws {
    let folder = "Sources/CipherData/CipherData.docc"
    let names = try FileManager.default.contentsOfDirectory(atPath: Compiler.root.appendingPathComponent(folder).path)
    for name in names.sorted() where name.hasSuffix(".md") { try check("\(folder)/\(name)") }
  }

  /// Each code block in a type's comment is the body of a function, whose parameters are the values that the blocks assume. A block that
  /// imports CipherDataEngine is a file of its own.
  func testTheCodeOfTheCommentsOfTypesCompiles() throws {
    let atHand = """
      context: ManagedObjectContext, container: PersistentContainer, book: Book, author: Author, film: ManagedObject, download: AsyncStream<Data>, model: ManagedObjectModel,
      version1: ManagedObjectModelReference, version2: ManagedObjectModelReference, rows: [[String: Any]], url: URL, key: StoreKey,
      coordinator: PersistentStoreCoordinator, token: PersistentHistoryToken, document: ManagedDocument
      """
    var program = """
      import CipherData
      import CipherDataDocuments
      import CipherDataSync
      import Foundation
      func ask(_ question: String) async throws -> String { question }

      """
    var engine = ""
    var count = 0
    for module in [
      "StoreKeys", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "ObjectContext", "CipherDataDocuments", "CipherDataSync",
    ] {
      let folder = Compiler.root.appendingPathComponent("Sources/\(module)")
      let walk = try XCTUnwrap(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
      for case let file as URL in walk where file.pathExtension == "swift" {
        for (line, block) in Self.blocks(in: try String(contentsOf: file, encoding: .utf8)) {
          count += 1
          if block.hasPrefix("import ") {
            engine += block
            continue
          }
          let place = "#sourceLocation(file: \"\(file.lastPathComponent)\", line: \(line))\n"
          // An extension must be at the top level.
          program +=
            block.hasPrefix("extension ") ? place + block : "@MainActor func example\(count)(\(atHand)) async throws {\n\(place)\(block)}\n"
          program += "#sourceLocation()\n"
        }
      }
    }
    XCTAssertGreaterThan(count, 40)
    try compile(["Comments.swift": program, "EngineComments.swift": engine], flags: ["-parse-as-library"]) { $0.contains("error: ") }
  }

  /// The Swift code blocks in unindented comments, such as those of types, with the numbers of their first lines.
  private static func blocks(in text: String) -> [(line: Int, code: String)] {
    var blocks: [(line: Int, code: String)] = []
    var isCode = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line == "/// ```swift" {
        isCode = true
        blocks.append((index + 2, ""))
      } else if line == "/// ```" {
        isCode = false
      } else if isCode {
        blocks[blocks.count - 1].code += line.dropFirst(4) + "\n"
      }
    }
    return blocks
  }

  func testTutorialModelMatchesTheJournalExample() throws {
    let article = try String(
      contentsOf: Compiler.root.appendingPathComponent("Sources/CipherData/CipherData.docc/JournalInFifteenMinutes.md"), encoding: .utf8)
    let model = try String(
      contentsOf: Compiler.root.appendingPathComponent("Examples/Sources/Journal/Journal.xcdatamodeld/Journal.xcdatamodel/contents"),
      encoding: .utf8)
    XCTAssertTrue(article.contains("```xml\n\(model)```"))
  }

  /// Compiles the code blocks of a text together with declarations that it mentions.
  private func check(_ path: String, with declarations: [String] = []) throws {
    let text = try String(contentsOf: Compiler.root.appendingPathComponent(path), encoding: .utf8)
    var program = ""
    var isCode = false
    // Other lines become empty, so that the line numbers of diagnostics match the text.
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isCode = line == "```swift"
        program += "\n"
      } else {
        program += (isCode ? line : "") + "\n"
      }
    }
    guard program.contains(where: { !$0.isWhitespace }) else { return }
    var files = ["main.swift": program]
    if !declarations.isEmpty {
      let imports = "import CipherData\nimport Foundation\n"
      files["Declarations.swift"] = imports + declarations.joined(separator: "\n")
      // The first line is the text's title.
      files["main.swift"] = "import CipherData; import Foundation" + program
    }
    try compile(files, of: path)
  }

  /// Compiles a program's files, by name, together with the library's generated classes. No counted diagnostic may result.
  private func compile(
    _ program: [String: String], of path: String = "", flags: [String] = [], counts: (String) -> Bool = { _ in true }
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("documentation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = try program.map { name, text in
      let file = folder.appendingPathComponent(name)
      try text.write(to: file, atomically: true, encoding: .utf8)
      return file
    }
    // The tutorials about the journal use its classes.
    let isOfTheJournal = ["/JournalInFifteenMinutes.md", "/MigratingInSteps.md"].contains { path.hasSuffix($0) }
    let model = isOfTheJournal ? "Journal/Journal" : "Quickstart/Library"
    try Fixture.withLibraryClasses(of: model) { library in
      let (status, diagnostics) = try Compiler().check(files + [library], flags: flags)
      let reported = diagnostics.filter(counts)
      XCTAssertTrue(status == 0 && reported.isEmpty, "\(path):\n" + reported.joined(separator: "\n"))
    }
  }
}
