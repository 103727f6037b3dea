import ArgumentParser
import Foundation
import ModelCodeGeneration
import ObjectModel

/// Generates typed classes for a model.
struct GenerateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Generate the Swift classes of a model's entities in a folder.",
    discussion: "One file for the model and one for each class. Existing files are replaced if they differ.")

  /// The access level of the generated classes.
  enum Access: String, ExpressibleByArgument, CaseIterable {
    case open, `public`, package, `internal`
  }

  @Argument(help: "An .xcdatamodeld or .xcdatamodel.")
  var model: String

  @Option(name: [.short, .long], help: ArgumentHelp("The output folder, created if necessary.", valueName: "folder"))
  var output: String

  @Option(help: "The access level of the classes.")
  var access = Access.public

  @Option(help: "The module of the classes.")
  var module: String?

  @Option(
    name: .customLong("import"),
    help: ArgumentHelp("A module to import, for types of transformable attributes; may be repeated.", valueName: "module"))
  var imports: [String] = []

  @Flag(help: "Generate only a superclass with the properties of each class, such as _Book, for your declaration class Book: _Book.")
  var split = false

  @OptionGroup var strict: StrictOption

  func run() async throws {
    let url = URL.path(model)
    _ = try ModelCommand.model(model, strict: strict.strict)
    let options = CodeGenerationOptions(
      access: .init(rawValue: access.rawValue) ?? .public, moduleName: module, imports: imports, isSplit: split)
    let files: [GeneratedFile]
    do {
      files = try ModelCodeGenerator(contentsOf: url, options: options).files()
    } catch let error as CodeGenerationError {
      let place = try ModelFileLocations(ofModelAt: url).location(entity: error.entityName, property: error.attributeName)
      throw ToolError(.badData, "\(place): \(error)")
    }
    let folder = URL(fileURLWithPath: output, isDirectory: true)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for file in files {
        let target = folder.appendingPathComponent(file.name)
        let contents = Data(file.contents.utf8)
        if (try? Data(contentsOf: target)) == contents { continue }
        try FileReplacement.write(contents, to: target)
      }
    } catch let error as ModelFileError {
      throw error
    } catch {
      throw ToolError(.cannotCreate, "The classes cannot be written to \(output): \(error.localizedDescription)")
    }
    Tool.note("\(files.count) files in \(output)")
  }
}
