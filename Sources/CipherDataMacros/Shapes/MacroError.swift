#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// An error in the use of a macro: its position and a message with the fix.
  struct MacroError: Error {
    private let node: Syntax
    private let text: String

    init(at node: some SyntaxProtocol, _ text: String) {
      self.node = Syntax(node)
      self.text = text
    }

    /// The error as a compiler diagnostic.
    var diagnostic: Diagnostic { Diagnostic(node: node, message: Message(message: text)) }

    private struct Message: DiagnosticMessage {
      let message: String
      var diagnosticID: MessageID { MessageID(domain: "CipherData", id: "mistake") }
      var severity: DiagnosticSeverity { .error }
    }
  }

  extension MacroError {
    /// Runs a closure. If it throws an error of this type, appends the error to a list and returns `nil`.
    static func collecting<Result>(in errors: inout [MacroError], _ body: () throws -> Result?) rethrows -> Result? {
      do { return try body() } catch let macroError as MacroError {
        errors.append(macroError)
        return nil
      }
    }
  }
#endif
