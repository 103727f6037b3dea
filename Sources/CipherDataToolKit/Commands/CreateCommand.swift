import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import CipherData
import SQLCipherStore

/// Creates an empty store with a model.
struct CreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "create", abstract: "Create an empty encrypted store with a model.")

  @Argument(help: "The store's file; it must not exist.", completion: .file())
  var store: String

  @Option(help: ArgumentHelp("The model: an .xcdatamodeld or .xcdatamodel.", valueName: "model"), completion: .file())
  var model: String

  @Option(help: "A name for the passphrase's key slot.")
  var label = ""

  @OptionGroup
  var strict: StrictOption

  @OptionGroup
  var passphrase: PassphraseOptions

  func run() async throws {
    let model = try ModelCommand.model(self.model, strict: strict.strict)
    // Report errors in the model or the path before requesting a passphrase.
    _ = try CompiledModel(model)
    try PathCheck.checkFree(store)
    if try PathCheck.isTaken(store + ".keys") { throw ToolError(.cannotCreate, "\(store).keys already exists.") }
    try await StoreCreation.create(.path(store), model: model, key: try passphrase.newKey(for: store), label: label)
  }
}
