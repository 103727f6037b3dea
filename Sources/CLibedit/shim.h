// The line editor of the system, without its variadic functions, which Swift cannot call.
#ifndef CIPHERDATA_CLIBEDIT_SHIM_H
#define CIPHERDATA_CLIBEDIT_SHIM_H

#include <histedit.h>
#include <locale.h>
#include <stdlib.h>

typedef char *(*cipherdata_edit_prompt_function)(EditLine *);
typedef unsigned char (*cipherdata_edit_key_function)(EditLine *, int);

// An editor on standard input and output. Its characters are those of the user's locale, and UTF-8 where the locale knows bytes only.
static inline EditLine *cipherdata_edit_open(const char *program) {
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
  EditLine *editor = el_init(program, stdin, stdout, stderr);
  if (!editor) return NULL;
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 1);
  return editor;
}

// What the callbacks find again.
static inline void cipherdata_edit_set_client(EditLine *editor, void *client) { el_set(editor, EL_CLIENTDATA, client); }
static inline void *cipherdata_edit_client(EditLine *editor) {
  void *client = NULL;
  return el_get(editor, EL_CLIENTDATA, &client) == 0 ? client : NULL;
}

static inline void cipherdata_edit_set_prompt(EditLine *editor, cipherdata_edit_prompt_function prompt) {
  el_set(editor, EL_PROMPT, prompt);
}

// Binds a key, written as in editrc(5), to a function of ours.
static inline int cipherdata_edit_bind(
    EditLine *editor, const char *key, const char *name, const char *help, cipherdata_edit_key_function function) {
  if (el_set(editor, EL_ADDFN, name, help, function) != 0) return -1;
  return el_set(editor, EL_BIND, key, name, NULL);
}

// Lets the keys that the terminal turns into signals be keys like others while a line is edited.
static inline void cipherdata_edit_take_signal_keys(EditLine *editor) { el_set(editor, EL_SETTY, "-d", "-isig", NULL); }

// The lines that the arrow keys call up.
static inline void cipherdata_edit_set_history(EditLine *editor, History *lines, int count) {
  HistEvent event;
  history(lines, &event, H_SETSIZE, count);
  history(lines, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_HIST, history, lines);
}

static inline void cipherdata_history_add(History *lines, const char *line) {
  HistEvent event;
  history(lines, &event, H_ENTER, line);
}

#endif
