import Foundation
import ModelCodeGeneration
import ObjectModel
import XCTest

/// Classes generated for model documents that resemble those of public applications compile, and misuse of their types does not.
final class DocumentClassesCompilationTests: XCTestCase {
  private func withClasses(of names: [String], _ body: ([URL]) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("documents-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files: [URL] = []
    for name in names {
      var model = try ManagedObjectModel(
        contentsOf: Compiler.root.appendingPathComponent("Tests/ObjectModelTests/Documents/\(name).xcdatamodeld"))
      // Classes that an application would write are generated here too.
      for index in model.entities.indices { model.entities[index].codeGeneration = .classDefinition }
      let file = folder.appendingPathComponent("\(name).swift")
      try ModelCodeGenerator(model: model, name: name, options: CodeGenerationOptions(access: .internal)).source()
        .write(to: file, atomically: true, encoding: .utf8)
      files.append(file)
    }
    try body(files)
  }

  func testClassesOfNewDocumentsCompileAndKeepTheirTypes() throws {
    try withClasses(of: ["Camera", "HealthLog", "Podcasts"]) { try Fixture("ClassesOfDocuments").check(with: $0) }
  }

  func testClassesOfOldDocumentsCompile() throws {
    for name in ["FeedReader", "NextActions", "Timetable", "Chat"] {
      try withClasses(of: [name]) { classes in
        let (status, diagnostics) = try Compiler().check(classes, flags: ["-parse-as-library"])
        XCTAssertTrue(status == 0 && diagnostics.isEmpty, "\(name):\n" + diagnostics.prefix(5).joined(separator: "\n"))
      }
    }
  }
}
