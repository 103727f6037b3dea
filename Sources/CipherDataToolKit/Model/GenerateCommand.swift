import AccessorSymbols
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

/// Prints or makes the changes that sources written for Core Data need to compile on Linux.
struct PortSourcesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "port-sources",
    abstract: "Show the changes that sources importing CoreData need to compile on Linux.",
    discussion: """
      Prints the changes as input for patch. Changes to make manually are listed on standard error with file and line. With --write, \
      the files are changed. The sources still compile on Apple's systems, and running the command again changes nothing.

        cipherdata port-sources Sources
        cipherdata port-sources Sources --write
        cipherdata port-sources Sources --leave-properties --write
      """)

  @Argument(help: "A folder with Swift sources, or one source.", completion: .directory) var folder: String
  @Flag(help: "Change the files.") var write = false
  @Flag(help: "Also leave @NSManaged properties to the plugin; numbers are then read ten times as fast.") var leaveProperties = false

  func run() async throws {
    let sink = OutputSink()
    let files = try sources().map { ($0, try Self.text(of: $0)) }
    let folder = PortedFolder(files.map(\.1))
    for (file, text) in files {
      let url = URL(fileURLWithPath: file)
      let port = SourcePort(text, in: folder, leavesProperties: leaveProperties)
      for remark in port.remarks { Tool.print("\(file):\(remark.line): note: \(remark.text)", to: STDERR_FILENO) }
      guard port.isChanged else { continue }
      try sink.write(port.difference(path: file))
      if !write { continue }
      do { try FileReplacement.write(Data(port.result.utf8), to: url) } catch {
        throw ToolError(.cannotCreate, "The source \(file) cannot be written: \(error.localizedDescription)")
      }
    }
    try sink.flush()
  }

  private static func text(of file: String) throws -> String {
    guard let text = try? String(contentsOf: URL(fileURLWithPath: file), encoding: .utf8) else {
      try ByteSource.check(path: file)
      throw ToolError(.noInput, "The source \(file) cannot be read.")
    }
    return text
  }

  /// Returns the Swift sources in the folder, except for those in hidden folders such as build folders.
  private func sources() throws -> [String] {
    var isFolder: ObjCBool = false
    guard try PathCheck.isTaken(folder), FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else {
      throw ToolError(.noInput, "There is no folder at \(folder).")
    }
    guard isFolder.boolValue else { return [folder] }
    let walk = FileManager.default.enumerator(atPath: folder)
    var files: [String] = []
    while let path = walk?.nextObject() as? String {
      if path.split(separator: "/").last?.hasPrefix(".") == true {
        walk?.skipDescendants()
      } else if path.hasSuffix(".swift") {
        files.append(folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)")
      }
    }
    return files.sorted()
  }
}
