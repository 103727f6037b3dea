import Foundation
import ModelCodeGeneration
import XCTest

/// The contents of CipherDataModel.json, which the plugin's tool reads on every run.
final class PluginConfigurationTests: XCTestCase {
  private func read(_ text: String) throws -> PluginConfiguration { try PluginConfiguration(Data(text.utf8)) }

  func testSingleModelNeedsNoList() throws {
    let model = try XCTUnwrap(
      read("\u{FEFF}{\n  \"model\": \"A/B.xcdatamodeld\", \"access\": \"package\",\n \"module\": \"M\", \"name\": \"N\" }\n").models.first)
    XCTAssertEqual(model.path, "A/B.xcdatamodeld")
    XCTAssertEqual(model.options, CodeGenerationOptions(access: .package, moduleName: "M"))
    XCTAssertEqual(model.name, "N")
    XCTAssertEqual(model.line, 2)
  }

  func testMultipleModelsAreAList() throws {
    let models = try read(#"{ "models": [ { "model": "a\/\u00e4 \"b\"", "imports": [ "X", "Y.Z" ] }, { "model": "c" } ] }"#).models
    XCTAssertEqual(models.map(\.path), ["a/ä \"b\"", "c"])
    XCTAssertEqual(models.map(\.options.imports), [["X", "Y.Z"], []])
    XCTAssertEqual(models.map(\.options.access), [.public, .public])
  }

  func testAccessLevelDefaultsToThatOfTheTarget() throws {
    let text = #"{ "models": [ { "model": "a" }, { "model": "b", "access": "public" } ] }"#
    XCTAssertEqual(try PluginConfiguration(Data(text.utf8), access: .internal).models.map(\.options.access), [.internal, .public])
  }

  func testAModelMayBeStrict() throws {
    let models = try read(#"{ "models": [ { "model": "a", "strict": true }, { "model": "b", "strict": false }, { "model": "c" } ] }"#)
      .models
    XCTAssertEqual(models.map(\.isStrict), [true, false, false])
  }

  func testErrorsNameTheirLine() {
    for (text, line, reason) in [
      ("", 1, "ends here"), ("{", 1, "name in quotes"), ("[]", 1, "needs a \"model\""), ("\n{}", 2, "\"model\" is missing"),
      ("{\n\"models\": [ { \"model\": \"a\" },\n { } ] }", 3, "\"model\" is missing"), ("{ \"models\": [] }", 1, "is empty"),
      ("{ \"models\": [\n\"a\" ] }", 2, "must be an object"), ("{ \"models\":\n\"a\" }", 1, "must be a list"),
      ("{ \"model\": \"a\"\n \"access\": \"public\" }", 2, "comma or a closing brace"), ("{ \"model\": \"a\" } x", 1, "nothing more"),
      ("{ \"model\": \"a\",\n\"acess\": \"public\" }", 2, "a model has no \"acess\""), ("{ \"model\": 5 }", 1, "must be a nonempty string"),
      ("{ \"model\": \"a\",\n\"model\": \"b\" }", 2, "appears twice"), ("{ \"model\": \"a\n\" }", 1, "must end with quotes"),
      ("{ \"model\": \"a\", \"access\": \"secret\" }", 1, "open, public, package, internal"),
      ("{ \"model\": maybe }", 1, "a value is expected"),
      ("{ \"models\": [ { \"model\": \"a\" } ],\n \"access\": \"public\" }", 2, "inside \"models\""),
      ("{ \"model\": \"\\x\" }", 1, "not valid JSON"),
      ("{ \"model\": \"a\\", 1, "must end with quotes"), (String(repeating: "[", count: 99), 1, "nested"),
      ("{ \"model\": true }", 1, "must be a nonempty string"), ("{ \"model\": \"a\",\n\"strict\": 1 }", 2, "must be true or false"),
      ("{ \"model\": \"a\", \"imports\": [ null ] }", 1, "names of modules"), ("{ \"model\" \"a\" }", 1, "a colon"),
    ] {
      XCTAssertThrowsError(try read(text), text) { error in
        XCTAssertEqual((error as? PluginConfigurationError)?.line, line, text)
        XCTAssertTrue("\(error)".contains(reason), "\(text): \(error)")
      }
    }
  }

  // MARK: The plugin's tool

  /// The plugin's tool, which the tests of typed classes need as well.
  private func tool() throws -> URL {
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let names = ["generate-managed-objects-tool", "generate-managed-objects"]
    let found = names.map(folder.appendingPathComponent(_:)).first { FileManager.default.fileExists(atPath: $0.path) }
    return try XCTUnwrap(found, "the plugin's tool is not next to the test bundle: build all tests, not only this target")
  }

  private func run(_ arguments: [String]) throws -> (status: Int32, message: String) {
    let process = Process()
    process.executableURL = try tool()
    process.arguments = arguments
    let output = Pipe()
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  private func model(_ entity: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="\(entity)" representedClassName="\(entity)" codeGenerationType="class">
            <attribute name="price" attributeType="Decimal"/>
        </entity>
    </model>
    """
  }

  func testTheToolReadsTheFileWheneverItRuns() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plugin-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in ["First", "Second"] {
      let bundle = folder.appendingPathComponent("\(name).xcdatamodel")
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try model("Thing\(name)").write(to: bundle.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    }
    let file = folder.appendingPathComponent("CipherDataModel.json")
    let output = folder.appendingPathComponent("Output.swift")
    let arguments = [
      "--configuration", file.path, "--package", folder.path, "--output", output.path, "--module", "M", "--planned",
      folder.appendingPathComponent("First.xcdatamodel").path,
    ]
    func generate(_ text: String) throws -> (status: Int32, message: String, source: String) {
      try text.write(to: file, atomically: true, encoding: .utf8)
      let (status, message) = try run(arguments)
      return (status, message, (try? String(contentsOf: output, encoding: .utf8)) ?? "")
    }
    let first = try generate(#"{ "model": "First.xcdatamodel", "access": "internal" }"#)
    XCTAssertEqual(first.status, 0)
    XCTAssertEqual(first.message, "")
    XCTAssertTrue(
      first.source.contains("\n@_spi(Generated) import CipherData\nimport Foundation\n\n") && first.source.contains("class ThingFirst"))
    let date = try FileManager.default.attributesOfItem(atPath: output.path)[.modificationDate] as? Date

    let same = try generate(#"{ "models": [ { "model": "First.xcdatamodel", "access": "internal" } ] }"#)
    XCTAssertEqual(same.source, first.source)
    XCTAssertEqual(try FileManager.default.attributesOfItem(atPath: output.path)[.modificationDate] as? Date, date, "it is compiled again")

    let both = try generate(
      #"{ "models": [ { "model": "First.xcdatamodel", "access": "internal" },"# + "\n"
        + #"{ "model": "Second.xcdatamodel", "access": "public" } ] }"#)
    XCTAssertEqual(both.status, 0)
    XCTAssertTrue(both.message.contains("CipherDataModel.json:2: warning: the build was planned before Second.xcdatamodel"), both.message)
    XCTAssertTrue(both.source.contains("from the models First, Second."))
    XCTAssertTrue(both.source.contains("\n@_spi(Generated) public import CipherData\npublic import Foundation\n\n"))
    XCTAssertTrue(both.source.contains("\nnonisolated class ThingFirst") && both.source.contains("\npublic nonisolated class ThingSecond"))

    for (text, message) in [
      ("{\n\"model\": \"First.xcdatamodel\" \"name\": \"A\" }", "CipherDataModel.json:2: error: a comma"),
      ("{\n\"model\": \"Third.xcdatamodel\" }", "CipherDataModel.json:2: error: there is no model"),
      (
        #"{ "models": [ { "model": "First.xcdatamodel" }, { "model": "Second.xcdatamodel", "name": "First" } ] }"#,
        "json: error: two models"
      ),
    ] {
      let broken = try generate(text)
      XCTAssertEqual(broken.status, 65, text)
      XCTAssertTrue(broken.message.contains(message), broken.message)
      XCTAssertEqual(broken.source, both.source)
    }
  }
}
