// GenerateManagedObjects: a build-tool plugin that writes the typed classes of a target's models.
import Foundation
import PackagePlugin

/// Turns models into Swift classes before a target is compiled.
///
/// The models are those that `CipherDataModel.json` in the target's folder names, by paths from the package's folder:
///
/// ```json
/// { "models": [ { "model": "Schemas/DebianArchive.xcdatamodeld", "access": "internal", "imports": [] } ] }
/// ```
///
/// (one model may stand without the list), or, without that file, every `.xcdatamodeld` and `.xcdatamodel` in the target's folder.
@main struct GenerateManagedObjects: BuildToolPlugin {
  /// What the configuration file says of a model.
  struct Model: Decodable {
    var model: String
    var access: String?
    var module: String?
    var name: String?
    var imports: [String]?
  }

  struct Configuration: Decodable {
    var models: [Model]
  }

  /// Why no commands can be made.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "generate-managed-objects").url
    let file = target.directoryURL.appendingPathComponent("CipherDataModel.json")
    let isConfigured = FileManager.default.fileExists(atPath: file.path)
    let models = isConfigured ? try configured(file) : found(in: target.directoryURL)
    if models.isEmpty {
      Diagnostics.warning("GenerateManagedObjects found no model: add a CipherDataModel.json or an .xcdatamodeld to the target's folder")
    }
    return try models.map { model in
      let url =
        model.model.hasPrefix("/") ? URL(fileURLWithPath: model.model) : context.package.directoryURL.appendingPathComponent(model.model)
      let name = model.name ?? url.deletingPathExtension().lastPathComponent
      let output = context.pluginWorkDirectoryURL.appendingPathComponent("\(name)+ManagedObjects.swift")
      var inputs = try files(of: url)
      if isConfigured { inputs.append(file) }
      var arguments = ["--model", url.path, "--output", output.path, "--name", name, "--module", model.module ?? target.moduleName]
      if let access = model.access { arguments += ["--access", access] }
      for module in model.imports ?? [] { arguments += ["--import", module] }
      return .buildCommand(
        displayName: "Generate the classes of \(name)", executable: tool, arguments: arguments, inputFiles: inputs, outputFiles: [output])
    }
  }

  private func configured(_ file: URL) throws -> [Model] {
    do {
      let data = try Data(contentsOf: file)
      let decoder = JSONDecoder()
      if let list = try? decoder.decode(Configuration.self, from: data) { return list.models }
      return [try decoder.decode(Model.self, from: data)]
    } catch {
      throw Problem(description: "\(file.path): error: the file needs a \"model\" with a path, or \"models\" with a list of such")
    }
  }

  private func found(in folder: URL) -> [Model] {
    let walk = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var models: [Model] = []
    while let url = walk?.nextObject() as? URL {
      guard ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) else { continue }
      // The versions inside a bundle are not models of their own.
      walk?.skipDescendants()
      models.append(Model(model: url.path))
    }
    return models.sorted { $0.model < $1.model }
  }

  /// The files of a model, so that a change of any of them writes the classes again.
  private func files(of url: URL) throws -> [URL] {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
      throw Problem(description: "\(url.path): error: there is no such model; paths begin at the package's folder")
    }
    guard isDirectory.boolValue else { return [url] }
    let walk = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
    var files: [URL] = []
    while let file = walk?.nextObject() as? URL {
      if file.lastPathComponent == "contents" || file.lastPathComponent == ".xccurrentversion" { files.append(file) }
    }
    // The bundle itself is named too, so that SwiftPM does not call it unhandled when it lies in the target's folder.
    return [url] + files.sorted { $0.path < $1.path }
  }
}
