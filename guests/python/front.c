/*
 * The front of the Python guest. prepare() starts the interpreter and imports what programs
 * commonly need; its memory is then the snapshot that runs begin with. run() runs one program and
 * returns its exit code.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "front.h"

static PyObject *launch; /* the function of launch.py */

static int start(void)
{
        PyConfig config;
        PyStatus status;

        PyConfig_InitPythonConfig(&config);
        config.use_environment = 0;
        config.install_signal_handlers = 0;
        config.user_site_directory = 0;
        config.write_bytecode = 0;
        config.parse_argv = 0;
        /* The same program takes the same way, and so the same fuel. */
        config.use_hash_seed = 1;
        config.hash_seed = 0;
        config.module_search_paths_set = 1;
        status = PyWideStringList_Append(&config.module_search_paths, L"/lib/library.zip");
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(&config, &config.home, L"/lib");
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(&config, &config.program_name, L"python3");
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(&config, &config.executable, L"");
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(&config, &config.stdio_encoding, L"utf-8");
        if (!PyStatus_Exception(status))
                status = PyConfig_SetString(&config, &config.stdio_errors, L"surrogateescape");
        if (!PyStatus_Exception(status))
                status = Py_InitializeFromConfig(&config);
        if (PyStatus_Exception(status))
                fprintf(stderr, "Error: %s: %s\n", status.func ? status.func : "", status.err_msg);
        PyConfig_Clear(&config);
        return PyStatus_Exception(status) ? -1 : 0;
}

/* ---- objects of the snapshot are not counted any more ---- */

/* Objects whose references are still to be visited. */
struct pile {
        PyObject **items;
        size_t count, room;
};

static int keep(PyObject *object, void *data)
{
        struct pile *pile = data;

        if (!object || _Py_IsImmortal(object))
                return 0;
        if (pile->count == pile->room) {
                size_t room = pile->room ? 2 * pile->room : 4096;
                PyObject **items = realloc(pile->items, room * sizeof(*items));

                if (!items)
                        return -1;
                pile->items = items;
                pile->room = room;
        }
        object->ob_refcnt = _Py_IMMORTAL_REFCNT;
        pile->items[pile->count++] = object;
        return 0;
}

/* Code shows nothing to a visitor. */
static int keep_parts_of_code(PyCodeObject *code, struct pile *pile)
{
        PyObject *parts[] = { code->co_consts,         code->co_names,
                              code->co_exceptiontable, code->co_filename,
                              code->co_name,           code->co_qualname,
                              code->co_linetable,      code->co_localsplusnames,
                              code->co_localspluskinds };
        int r = 0;

        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && r == 0; i++)
                r = keep(parts[i], pile);
        return r;
}

/* A count that is written at each look is a page that each run has to copy. What is in the snapshot
 * lives as long as the run, so that nothing is lost where nobody counts. */
static int keep_all(PyObject *objects)
{
        struct pile pile = { 0 };
        int r = 0;

        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects) && r == 0; i++)
                r = keep(PyList_GET_ITEM(objects, i), &pile);
        while (r == 0 && pile.count > 0) {
                PyObject *object = pile.items[--pile.count];
                traverseproc traverse = Py_TYPE(object)->tp_traverse;

                if (PyCode_Check(object))
                        r = keep_parts_of_code((PyCodeObject *)object, &pile);
                else if (PyType_IS_GC(Py_TYPE(object)) && traverse)
                        r = traverse(object, keep, &pile);
        }
        free(pile.items);
        return r;
}

static int keep_snapshot(void)
{
        PyObject *collector = PyImport_ImportModule("gc");
        PyObject *objects = collector ? PyObject_CallMethod(collector, "get_objects", NULL) : NULL;
        PyObject *frozen = NULL;
        int r = objects ? keep_all(objects) : -1;

        if (r == 0)
                frozen = PyObject_CallMethod(collector, "freeze", NULL);
        Py_XDECREF(frozen);
        Py_XDECREF(objects);
        Py_XDECREF(collector);
        return frozen ? 0 : -1;
}

__attribute__((export_name("prepare"))) int prepare(void)
{
        PyObject *module;

        if (start() < 0)
                return 1;
        module = PyImport_ImportModule("sandbox_launch");
        launch = module ? PyObject_GetAttrString(module, "launch") : NULL;
        if (!launch || keep_snapshot() < 0) {
                PyErr_Print();
                return 1;
        }
        return 0;
}

static PyObject *list_of(struct words words)
{
        PyObject *list = words.items ? PyList_New(0) : PyErr_NoMemory();

        for (size_t i = 0; list && i < words.count; i++) {
                PyObject *word = PyBytes_FromString(words.items[i]);

                if (!word || PyList_Append(list, word) < 0)
                        Py_CLEAR(list);
                Py_XDECREF(word);
        }
        return list;
}

__attribute__((export_name("run"))) int run(void)
{
        PyObject *arguments, *environment, *result = NULL;
        int code = CODE_MEMORY;

        if (front_open_directories("/workspace") < 0) {
                perror("/workspace");
                return 1;
        }
        arguments = list_of(front_arguments());
        environment = list_of(front_environment());
        if (arguments && environment)
                result = PyObject_CallFunctionObjArgs(launch, arguments, environment, NULL);
        if (result)
                code = (int)PyLong_AsLong(result);
        else if (!PyErr_ExceptionMatches(PyExc_MemoryError))
                code = 1;
        if (PyErr_Occurred())
                PyErr_Print();
        return code;
}
