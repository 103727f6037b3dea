import ArgumentParser
import Foundation
import ModelCodeGeneration
import ObjectModel

/// Prints and checks models.
struct ModelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Show, compare, check and format models, and add versions to them.",
    subcommands: [Show.self, Diagram.self, Difference.self, Lint.self, Format.self, AddVersion.self])

  /// `model show`.
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show a model as text.")
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Option(help: "The output format.") var format = Form.text

    func run() async throws { try ModelCommand.show(model, format) }
  }

  /// `model diagram`.
  struct Diagram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Draw a model.")
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Option(help: "The output format. Graphviz, if installed, lays out svg.") var format = Form.mermaid

    func run() async throws { try ModelCommand.show(model, format) }
  }

  /// The output formats.
  enum Form: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, mermaid, dot, svg
  }

  private static func show(_ path: String, _ format: Form) throws {
    let model = try ModelCommand.model(path, validates: false)
    _ = try CompiledModel(model)
    let text =
      switch format {
      case .text: ModelDescriptionPrinter.text(model)
      case .mermaid: ModelDiagram.mermaid(model)
      case .dot: ModelDiagram.dot(model)
      case .svg: ModelDrawing.svg(model)
      }
    let sink = OutputSink()
    try sink.write(text.hasSuffix("\n") ? text : text + "\n")
    try sink.flush()
  }
}
